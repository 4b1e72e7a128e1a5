// How much of the pixel the grid's lines cover; lines too dense to be seen fade out.
float lines(vec2 place, float step) {
    vec2 cell = place / step;
    vec2 pixel = max(fwidth(cell), vec2(1e-6));
    vec2 away = abs(fract(cell - 0.5) - 0.5) / pixel;
    vec2 cover = (1.0 - min(away / 1.1, 1.0)) * clamp(1.3 - 3.5 * pixel, 0.0, 1.0);
    return max(cover.x, cover.y);
}

float axis(float coordinate) {
    return 1.0 - min(abs(coordinate) / (1.5 * max(fwidth(coordinate), 1e-20)), 1.0);
}

// The colour of the grid's lines, and how much of the pixel they cover.
vec4 grid_lines(vec2 place) {
    float faded = spacing.y;
    float cover = 0.10 * (1.0 - faded) * lines(place, spacing.x);
    cover = max(cover, mix(0.24, 0.10, faded) * lines(place, 10.0 * spacing.x));
    cover = max(cover, 0.24 * lines(place, 100.0 * spacing.x));
    cover = min(line.w * cover, 1.0);
    vec3 tint = line.rgb;
    float x_axis = axis(place.y), y_axis = axis(place.x);
    tint = mix(tint, vec3(0.88, 0.32, 0.30), x_axis);
    tint = mix(tint, vec3(0.38, 0.76, 0.38), y_axis * (1.0 - x_axis));
    return vec4(tint, max(cover, 0.60 * max(x_axis, y_axis)));
}
