#version 330 core
uniform mat4 light_clip;

layout(location = 0) in vec3 vertex;
layout(location = 3) in vec4 pose_x;
layout(location = 4) in vec4 pose_y;
layout(location = 5) in vec4 pose_z;
layout(location = 6) in vec4 instance_color;

void main() {
    vec4 local = vec4(vertex, 1.0);
    vec3 position = vec3(dot(pose_x, local), dot(pose_y, local), dot(pose_z, local));
    // What is more glass than not casts no shadow: it is moved out of the picture.
    gl_Position = instance_color.a < 0.5 ? vec4(2.0, 2.0, 2.0, 1.0) : light_clip * vec4(position, 1.0);
}
