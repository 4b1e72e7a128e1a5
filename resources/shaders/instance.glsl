// Where an instance stands in the world, by rows, its colour, and a tint with how much of it is seen.
struct Instance {
    vec4 x, y, z, color, tint;
};

#ifdef BATCH
uniform samplerBuffer links;    // four rows of each link's pose, robot after robot
uniform isamplerBuffer order;   // the robots that are seen, nearest first
uniform samplerBuffer robots;   // of each: where it is drawn; its tint, and how much of it there is
uniform samplerBuffer pieces;   // of each copy of a mesh: three rows of its map to its link, its colour; its link, and
                                // 1 if that is the robot's
uniform ivec4 call;             // first copy; first robot in the order; how many robots; links of a robot

vec4 product(vec4 row, vec4 x, vec4 y, vec4 z) {
    return row.x * x + row.y * y + row.z * z + vec4(0.0, 0.0, 0.0, row.w);
}

Instance instance() {
    int piece = 5 * (call.x + gl_InstanceID / call.z);
    int robot = texelFetch(order, call.y + gl_InstanceID % call.z).r;
    vec4 x = texelFetch(pieces, piece), y = texelFetch(pieces, piece + 1), z = texelFetch(pieces, piece + 2);
    vec4 color = texelFetch(pieces, piece + 3);
    vec4 carrier = texelFetch(pieces, piece + 4);
    int link = 4 * (robot * call.w + int(carrier.x));
    vec4 offset = texelFetch(robots, 2 * robot), tint = texelFetch(robots, 2 * robot + 1);
    Instance made;
    made.x = product(texelFetch(links, link), x, y, z) + vec4(0.0, 0.0, 0.0, offset.x);
    made.y = product(texelFetch(links, link + 1), x, y, z) + vec4(0.0, 0.0, 0.0, offset.y);
    made.z = product(texelFetch(links, link + 2), x, y, z) + vec4(0.0, 0.0, 0.0, offset.z);
    made.color = vec4(mix(color.rgb, tint.rgb, carrier.y * tint.a), color.a);
    made.tint = vec4(0.0);
    return made;
}
#else
layout(location = 3) in vec4 pose_x;  // rows of the instance's affine map to the world
layout(location = 4) in vec4 pose_y;
layout(location = 5) in vec4 pose_z;
layout(location = 6) in vec4 instance_color;
layout(location = 7) in vec4 instance_tint;

Instance instance() { return Instance(pose_x, pose_y, pose_z, instance_color, instance_tint); }
#endif
