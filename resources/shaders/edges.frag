#version 330 core

// Smooths the steps of edges in a picture without samples: along an edge, whose direction the brightness of the
// neighbours tells, colours are mixed. After T. Lottes, FXAA, NVIDIA 2009, with one pair of places along the edge.

uniform sampler2D picture;
out vec4 color;

const vec3 BRIGHTNESS = vec3(0.299, 0.587, 0.114);
const float LEAST = 1.0 / 24.0;  // contrast below which nothing is an edge
const float SHARE = 1.0 / 8.0;   // of the brightest neighbour, below which nothing is one
const float REACH = 4.0;         // pixels along an edge at most

float bright(ivec2 at, ivec2 last) {
    return dot(texelFetch(picture, clamp(at, ivec2(0), last), 0).rgb, BRIGHTNESS);
}

vec3 there(vec2 place) {
    return textureLod(picture, place, 0.0).rgb;
}

void main() {
    ivec2 size = textureSize(picture, 0), at = ivec2(gl_FragCoord.xy), last = size - 1;
    vec4 here = texelFetch(picture, at, 0);
    color = here;
    float middle = dot(here.rgb, BRIGHTNESS);
    float a = bright(at + ivec2(-1, 1), last), b = bright(at + ivec2(1, 1), last);
    float c = bright(at + ivec2(-1, -1), last), d = bright(at + ivec2(1, -1), last);
    float low = min(middle, min(min(a, b), min(c, d))), high = max(middle, max(max(a, b), max(c, d)));
    if (high - low < max(LEAST, SHARE * high)) return;
    vec2 along = vec2(c + d - a - b, a + c - b - d);
    float least = max((a + b + c + d) / 32.0, 1.0 / 128.0) + min(abs(along.x), abs(along.y));
    along = clamp(along / least, -REACH, REACH) / vec2(size);
    vec2 place = gl_FragCoord.xy / vec2(size);
    color = vec4(0.5 * (there(place - along / 4.0) + there(place + along / 4.0)), here.a);
}
