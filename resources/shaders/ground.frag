#version 330 core
#include "frame.glsl"
#include "light.glsl"

in vec3 position;
out vec4 color;

// How much of the pixel the grid's lines cover; lines too dense to be seen fade out.
float lines(float step) {
    vec2 cell = position.xy / step;
    vec2 pixel = max(fwidth(cell), vec2(1e-6));
    vec2 away = abs(fract(cell - 0.5) - 0.5) / pixel;
    vec2 cover = (1.0 - min(away / 1.1, 1.0)) * clamp(1.3 - 3.5 * pixel, 0.0, 1.0);
    return max(cover.x, cover.y);
}

float axis(float coordinate) {
    return 1.0 - min(abs(coordinate) / (1.5 * max(fwidth(coordinate), 1e-6)), 1.0);
}

void main() {
    float away = length(position.xy - grid.xy) / grid.w;
    float fade = exp(-3.0 * away * away);
    float faded = spacing.y;
    float cover = 0.10 * (1.0 - faded) * lines(spacing.x);
    cover = max(cover, mix(0.24, 0.10, faded) * lines(10.0 * spacing.x));
    cover = max(cover, 0.24 * lines(100.0 * spacing.x));
    vec3 tint = vec3(0.72, 0.78, 0.86);
    float x_axis = axis(position.y), y_axis = axis(position.x);
    tint = mix(tint, vec3(0.88, 0.32, 0.30), x_axis);
    tint = mix(tint, vec3(0.38, 0.76, 0.38), y_axis * (1.0 - x_axis));
    cover = max(cover, 0.60 * max(x_axis, y_axis)) * fade;

    bool above = eye.z > eye.w;
#ifdef SHADED
    float shade = above ? 0.55 * (1.0 - lit(position, 2.0)) : 0.0;
#else
    const float shade = 0.0;
#endif
    float alpha = above ? cover : 0.4 * cover;
    // Lines over shadow over what is there, with premultiplied alpha; near the robot the floor is lit a little.
    vec3 glow = above ? vec3(0.026, 0.030, 0.037) * exp(-14.0 * away * away) * (1.0 - shade) : vec3(0.0);
    color = vec4(tint * alpha * (1.0 - 0.45 * shade) + glow * (1.0 - alpha), alpha + shade * (1.0 - alpha));
}
