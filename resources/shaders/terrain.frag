#version 330 core
#include "frame.glsl"
#include "light.glsl"
#include "grid.glsl"

in vec3 position;
out vec4 color;

void main() {
    // Each triangle is shaded as flat, as robots touch it.
    vec3 face = normalize(cross(dFdx(position), dFdy(position)));
    vec3 n = face.z < 0.0 ? -face : face;
    float key_cosine = max(dot(n, KEY), 0.0);
    vec3 key = key_cosine > 0.0 ? KEY_COLOR * softly_lit(position + 2.0 * spacing.z * n) : vec3(0.0);
    vec3 diffuse = vec3(0.13, 0.145, 0.17) + 0.50 * key_cosine * key + FILL_COLOR * max(dot(n, FILL), 0.0);
    vec3 ground = to_screen(soil.rgb * diffuse);
    vec4 grid_line = grid_lines(position.xy);
    ground = mix(ground, grid_line.rgb, 0.6 * grid_line.a);
    float away = length(position.xy - grid.xy) / grid.w;
    color = vec4(mix(to_screen(backdrop(position - eye.xyz)), ground, exp(-2.0 * away * away)), 1.0);
}
