// A line as wide in the window as at full resolution: one thinner than a drawn pixel is fainter instead.
vec2 line_cover(vec2 away, float width) {
    float drawn = width / forward.w, reach = max(drawn, 0.8), most = min(drawn / reach, 1.0);
    return max(most - most / reach * away, 0.0);
}

// How much of the pixel the grid's lines cover; lines too dense to be seen fade out. 
// There are so many pixels to a metre of the ground, along each of its axes.
float lines(vec2 place, vec2 pixels, float step) {
    vec2 away = abs(fract(place / step - 0.5) - 0.5) * (step * pixels);
    vec2 cover = line_cover(away, 1.1) * clamp(1.3 - 3.5 / (step * forward.w * pixels), 0.0, 1.0);
    return max(cover.x, cover.y);
}

// The colour of the grid's lines, and how much of the pixel they cover.
vec4 grid_lines(vec2 place) {
    float faded = spacing.y;
    vec2 pixels = 1.0 / max(fwidth(place), vec2(1e-6 * spacing.x));
    float cover = 0.10 * (1.0 - faded) * lines(place, pixels, spacing.x);
    cover = max(cover, mix(0.24, 0.10, faded) * lines(place, pixels, 10.0 * spacing.x));
    cover = max(cover, 0.24 * lines(place, pixels, 100.0 * spacing.x));
    cover = min(line.w * cover, 1.0);
    vec3 tint = line.rgb;
    vec2 axes = line_cover(abs(place) * pixels, 1.5);
    float x_axis = axes.y, y_axis = axes.x;
    tint = mix(tint, vec3(0.88, 0.32, 0.30), x_axis);
    tint = mix(tint, vec3(0.38, 0.76, 0.38), y_axis * (1.0 - x_axis));
    return vec4(tint, max(cover, 0.60 * max(x_axis, y_axis)));
}
