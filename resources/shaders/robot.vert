#version 330 core
#include "frame.glsl"
#include "instance.glsl"

layout(location = 0) in vec3 vertex;
layout(location = 1) in vec3 vertex_normal;
layout(location = 2) in vec4 vertex_color;

out vec3 position;
out vec3 normal;
out vec4 base_color;
flat out vec4 tint;

void main() {
    Instance at = instance();
    vec4 local = vec4(vertex, 1.0);
    position = vec3(dot(at.x, local), dot(at.y, local), dot(at.z, local));
    // Normals go by the cofactor matrix: the inverse transpose but for a factor, and never singular.
    mat3 rows = mat3(cross(at.y.xyz, at.z.xyz), cross(at.z.xyz, at.x.xyz), cross(at.x.xyz, at.y.xyz));
    normal = transpose(rows) * vertex_normal;
    base_color = vertex_color * at.color;
    tint = at.tint;
    gl_Position = view_projection * vec4(position, 1.0);
}
