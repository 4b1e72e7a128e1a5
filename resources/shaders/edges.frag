#version 330 core

// Smooths the steps of edges in a picture without samples: along an edge, whose direction the brightness of the
// neighbours tells, colours are mixed. After T. Lottes, FXAA, NVIDIA 2009, with one pair of places along the edge.

uniform sampler2D picture;
uniform bool doors;  // whether what is translucent covers every other pixel, see robot.frag
out vec4 color;

const vec3 BRIGHTNESS = vec3(0.299, 0.587, 0.114);
const float LEAST = 1.0 / 24.0;  // contrast below which nothing is an edge
const float SHARE = 1.0 / 8.0;   // of the brightest neighbour, below which nothing is one
const float REACH = 4.0;         // pixels along an edge at most

vec3 pixel(ivec2 at) {
    return texelFetch(picture, clamp(at, ivec2(0), textureSize(picture, 0) - 1), 0).rgb;
}

float bright(ivec2 at) {
    return dot(pixel(at), BRIGHTNESS);
}

vec3 there(vec2 place) {
    return textureLod(picture, place, 0.0).rgb;
}

void main() {
    ivec2 size = textureSize(picture, 0), at = ivec2(gl_FragCoord.xy);
    vec4 here = texelFetch(picture, at, 0);
    color = here;
    if (doors) {
        ivec2 x = ivec2(1, 0), y = ivec2(0, 1);
        vec3 beside = 0.25 * (pixel(at + x) + pixel(at - x) + pixel(at + y) + pixel(at - y));
        vec3 aslant = 0.25 * (pixel(at + x + y) + pixel(at - x - y) + pixel(at + x - y) + pixel(at - x + y));
        if (distance(here.rgb, aslant) < 0.5 * distance(here.rgb, beside)) {  // of a chequered surface
            color.rgb = mix(here.rgb, beside, 0.5);
            return;
        }
    }
    float middle = dot(here.rgb, BRIGHTNESS);
    float a = bright(at + ivec2(-1, 1)), b = bright(at + ivec2(1, 1));
    float c = bright(at + ivec2(-1, -1)), d = bright(at + ivec2(1, -1));
    float low = min(middle, min(min(a, b), min(c, d))), high = max(middle, max(max(a, b), max(c, d)));
    if (high - low < max(LEAST, SHARE * high)) return;
    vec2 along = vec2(c + d - a - b, a + c - b - d);
    float least = max((a + b + c + d) / 32.0, 1.0 / 128.0) + min(abs(along.x), abs(along.y));
    along = clamp(along / least, -REACH, REACH) / vec2(size);
    vec2 place = gl_FragCoord.xy / vec2(size);
    color = vec4(0.5 * (there(place - along / 4.0) + there(place + along / 4.0)), here.a);
}
