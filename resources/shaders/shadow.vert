#version 330 core
#include "instance.glsl"
uniform mat4 light_clip;

layout(location = 0) in vec3 vertex;
#ifdef SCREEN_DOOR
flat out float opacity;
#endif

void main() {
    Instance at = instance();
    vec4 local = vec4(vertex, 1.0);
    vec3 position = vec3(dot(at.x, local), dot(at.y, local), dot(at.z, local));
#ifdef SCREEN_DOOR
    opacity = at.color.a;
#endif
    // What is more glass than not casts no shadow: it is moved out of the picture.
    gl_Position = at.color.a < 0.5 ? vec4(2.0, 2.0, 2.0, 1.0) : light_clip * vec4(position, 1.0);
}
