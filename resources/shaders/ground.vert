#version 330 core
#include "frame.glsl"

out vec3 position;
out vec2 place;  // on the plane

// Nine cells of six vertices each: the middle one, number 4, is where shadows can fall.
void main() {
    int cell = gl_VertexID / 6, corner = gl_VertexID % 6;
    int column = cell % 3 + int(corner == 1 || corner == 3 || corner == 4);
    int row = cell / 3 + int(corner == 2 || corner == 4 || corner == 5);
    vec4 xs = vec4(grid.x - grid.z, shaded.x, shaded.z, grid.x + grid.z);
    vec4 ys = vec4(grid.y - grid.z, shaded.y, shaded.w, grid.y + grid.z);
    place = vec2(xs[column], ys[row]);
    position = plane.w * plane.xyz + place.x * across.xyz + place.y * along.xyz;
    gl_Position = view_projection * vec4(position, 1.0);
}
