// What every program knows of the frame. Filled by Renderer, in this order.
layout(std140) uniform Frame {
    mat4 view_projection;  // world to clip
    mat4 light;            // world to the shadow map's texture coordinates and depth
    vec4 right;            // half the picture's width, as a direction at unit depth
    vec4 up;               // half the picture's height
    vec4 forward;          // xyz: unit; w: the pixels of the window across one that is drawn
    vec4 eye;              // xyz in m
    vec4 grid;             // xy: centre of the ground's quad, on the plane; z: its half width; w: where the lines have faded
    vec4 spacing;          // x: finest spacing in m; y: how far that level has faded, 0..1; z: shadow texel, m; w: 1 / map size
    vec4 shaded;           // xy, zw: corners of the part of the ground where shadows can fall
    vec4 plane;            // the ground's: xyz: unit normal; w: its distance from the origin, m
    vec4 across;           // unit directions on the plane, along which places on it are counted from its point
    vec4 along;            // nearest to the origin
    vec4 zenith;           // rgb: radiance of the sky overhead; w: the sheen that sets dark robots off a dark ground
    vec4 horizon;
    vec4 floor_light;      // straight below
    vec4 line;             // rgb: the grid's; w: how strong it is
    vec4 glow;             // rgb: of the floor near the robot; w: how much of its light a shadow takes
    vec4 soil;             // what a height field reflects
};
