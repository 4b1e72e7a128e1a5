#version 330 core
#include "frame.glsl"

out vec3 position;

void main() {
    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;
    position = vec3(grid.xy + corner * grid.z, eye.w);
    gl_Position = view_projection * vec4(position, 1.0);
}
