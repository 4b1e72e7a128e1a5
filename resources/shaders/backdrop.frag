#version 330 core
#include "frame.glsl"
#include "light.glsl"

in vec3 ray;
out vec4 color;

void main() {
    // Half a step of noise keeps the gradient from showing bands.
    float noise = fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715)))) - 0.5;
    color = vec4(to_screen(backdrop(ray)) + noise / 255.0, 1.0);
}
