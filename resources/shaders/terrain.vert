#version 330 core
#include "frame.glsl"

layout(location = 0) in vec3 vertex;

out vec3 position;

void main() {
    position = vertex;
    gl_Position = view_projection * vec4(vertex, 1.0);
}
