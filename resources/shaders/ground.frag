#version 330 core
#include "frame.glsl"
#include "light.glsl"
#include "grid.glsl"

in vec3 position;
in vec2 place;
out vec4 color;

void main() {
    float away = length(place - grid.xy) / grid.w;
    vec4 grid_line = grid_lines(place);
    vec3 tint = grid_line.rgb;
    float cover = grid_line.a * exp(-3.0 * away * away);

    bool above = dot(plane.xyz, eye.xyz) > plane.w;
#ifdef SHADED
    float shade = above ? glow.w * (1.0 - softly_lit(position)) : 0.0;
#else
    const float shade = 0.0;
#endif
    float alpha = above ? cover : 0.4 * cover;
    // Lines over shadow over what is there, with premultiplied alpha; near the robot the floor is lit a little.
    vec3 lit_floor = above ? glow.rgb * exp(-14.0 * away * away) * (1.0 - shade) : vec3(0.0);
    color = vec4(tint * alpha * (1.0 - 0.45 * shade) + lit_floor * (1.0 - alpha), alpha + shade * (1.0 - alpha));
}
