#version 330 core
#include "frame.glsl"
#include "light.glsl"

in vec3 position;
in vec3 normal;
in vec4 base_color;
flat in vec4 tint;
out vec4 color;

const float ROUGHNESS = 0.42;
const float F0 = 0.04;

// What a grazing look adds to F0 (Schlick's approximation).
float grazing(float cosine) {
    float away = 1.0 - cosine, square = away * away;
    return square * square * away;
}

// Cook-Torrance with the GGX distribution (B. Karis, "Real shading in Unreal Engine 4", 2013).
float glossy(vec3 n, vec3 v, vec3 l, float nl, float nv) {
    vec3 h = normalize(v + l);
    float nh = max(dot(n, h), 0.0);
    const float a2 = ROUGHNESS * ROUGHNESS * ROUGHNESS * ROUGHNESS;
    float spread = nh * nh * (a2 - 1.0) + 1.0;
    const float k = (ROUGHNESS + 1.0) * (ROUGHNESS + 1.0) / 8.0;
    float shadowing = nl / ((nl * (1.0 - k) + k) * (nv * (1.0 - k) + k));
    float fresnel = F0 + (1.0 - F0) * grazing(max(dot(v, h), 0.0));
    return a2 / (3.14159 * spread * spread) * shadowing * fresnel / 4.0;
}

void main() {
#ifdef SCREEN_DOOR
    // In a picture of one sample a pixel, what is seen through leaves out every other pixel. What is opaque may be a
    // rounding less than 1 between its corners.
    if (base_color.a < 0.998 && mod(gl_FragCoord.x + gl_FragCoord.y, 2.0) < 1.0) discard;
#endif
    vec3 v = normalize(eye.xyz - position);
    // The side that is seen decides where a normal points, so that meshes wound inside out look right.
    vec3 face = cross(dFdx(position), dFdy(position));
    face = normalize(dot(face, v) < 0.0 ? -face : face);
    vec3 n = normalize(normal);
    n = dot(n, face) < 0.0 ? -n : n;

    float nv = max(dot(n, v), 1e-3), key_cosine = dot(n, KEY);
    vec3 key = vec3(0.0);
    if (key_cosine > 0.0) {
        float facing = clamp(dot(face, KEY), 0.0, 1.0);
        key = KEY_COLOR * lit(position + face * spacing.z * (3.2 - 2.0 * facing), 1.0);
    }
    // Between the light of the ground and of the sky.
    vec3 ambient = mix(vec3(0.055, 0.057, 0.062), vec3(0.27, 0.30, 0.345), 0.5 + 0.5 * n.z);
    vec3 diffuse = ambient + 0.36 * max(key_cosine, 0.0) * key + FILL_COLOR * max(dot(n, FILL), 0.0);
    // White reflects less than all light, so that its faces stay below where bright light is compressed.
    vec3 albedo = to_linear(base_color.rgb);
    albedo *= 0.90 - 0.27 * min(albedo.r, min(albedo.g, albedo.b));
    // A pale softbox overhead is what a glossy surface mirrors.
    float mirrored = 2.0 * dot(n, v) * n.z - v.z;
    vec3 softbox = mix(vec3(0.10, 0.11, 0.13), vec3(0.95, 1.0, 1.08), smoothstep(-0.15, 0.85, mirrored));
    // Dark surfaces mirror more of it over a dark ground, most along their outlines, or they would not be seen.
    float dark = zenith.w * (1.0 - smoothstep(0.02, 0.25, max(albedo.r, max(albedo.g, albedo.b))));
    float sheen = F0 + 0.30 * grazing(nv) + dark * (0.05 + 0.45 * (1.0 - nv) * (1.0 - nv));
    vec3 gloss = sheen * softbox + glossy(n, v, KEY, max(key_cosine, 0.0), nv) * key;
    vec3 shown = to_screen(albedo * diffuse + gloss);
    // A tint keeps the shape's shading, and is strongest along its outline.
    vec3 tinted = tint.rgb * (0.45 + 0.75 * dot(shown, vec3(0.3, 0.6, 0.1)));
    color = vec4(mix(shown, tinted, min(tint.a * (1.0 + 0.6 * grazing(nv)), 1.0)), base_color.a);
}
