#version 330 core
#include "frame.glsl"

layout(location = 0) in vec3 vertex;
layout(location = 1) in vec3 vertex_normal;
layout(location = 2) in vec4 vertex_color;
layout(location = 3) in vec4 pose_x;  // rows of the instance's affine map to the world
layout(location = 4) in vec4 pose_y;
layout(location = 5) in vec4 pose_z;
layout(location = 6) in vec4 instance_color;

out vec3 position;
out vec3 normal;
out vec4 base_color;

void main() {
    vec4 local = vec4(vertex, 1.0);
    position = vec3(dot(pose_x, local), dot(pose_y, local), dot(pose_z, local));
    // Normals go by the cofactor matrix: the inverse transpose but for a factor, and never singular.
    mat3 rows = mat3(cross(pose_y.xyz, pose_z.xyz), cross(pose_z.xyz, pose_x.xyz), cross(pose_x.xyz, pose_y.xyz));
    normal = transpose(rows) * vertex_normal;
    base_color = vertex_color * instance_color;
    gl_Position = view_projection * vec4(position, 1.0);
}
