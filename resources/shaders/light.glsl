// The studio: a key light that casts shadows, a fill from the other side, and a sky over a ground.
uniform sampler2DShadow shadow_map;

const vec3 KEY = normalize(vec3(0.75, -0.15, 1.0));
const vec3 KEY_COLOR = vec3(2.75, 2.62, 2.45);
const vec3 FILL = normalize(vec3(-0.30, 0.95, 0.35));
const vec3 FILL_COLOR = vec3(0.34, 0.40, 0.50);

// sRGB and back without pow, which processors that draw are slow at (I. Taylor, "sRGB approximations for HLSL", 2013).
vec3 to_linear(vec3 c) { return c * (c * (c * 0.305306011 + 0.682171111) + 0.012522878); }

// True to the colours up to KNEE, then a shoulder that bends bright light below white; then sRGB.
vec3 to_screen(vec3 radiance) {
    const float KNEE = 0.45;
    vec3 over = max(radiance - KNEE, 0.0) / (1.0 - KNEE);
    vec3 shown = max(min(radiance, KNEE) + (1.0 - KNEE) * (over / (1.0 + over)), 0.0);
    vec3 root = sqrt(shown), fourth = sqrt(root), eighth = sqrt(fourth);
    return clamp(0.662002687 * root + 0.684122060 * fourth - 0.323583601 * eighth - 0.0225411470 * shown, 0.0, 1.0);
}

// What lies behind everything, in the direction of a ray.
vec3 backdrop(vec3 ray) {
    float height = normalize(ray).z;
    return mix(horizon.rgb, height > 0.0 ? zenith.rgb : floor_light.rgb, sqrt(abs(height)));
}

// The mean of taps² comparisons with the shadow map around a place, `spread` texels apart.
float filtered(vec3 place, int taps, float spread) {
    float sum = 0.0, middle = 0.5 * float(taps - 1);
    for (int row = 0; row < taps; ++row)
        for (int column = 0; column < taps; ++column) {
            vec2 offset = (vec2(column, row) - middle) * spread * spacing.w;
            sum += texture(shadow_map, vec3(place.xy + offset, place.z));
        }
    return sum / float(taps * taps);
}

// The share of the key light that reaches a point: percentage-closer filtering over SHADOW_TAPS² taps.
float lit(vec3 position, float spread) {
    vec3 place = (light * vec4(position, 1.0)).xyz;
    if (any(lessThan(place.xy, vec2(0.0))) || any(greaterThan(place.xy, vec2(1.0)))) return 1.0;
    place.z = min(place.z, 1.0);
    return filtered(place, SHADOW_TAPS, spread);
}

// The same with a soft edge, of 4 x 4 taps, which only edges take: elsewhere the corners and the middle are alike.
float softly_lit(vec3 position) {
    const float APART = 2.0;
    vec3 place = (light * vec4(position, 1.0)).xyz;
    if (any(lessThan(place.xy, vec2(0.0))) || any(greaterThan(place.xy, vec2(1.0)))) return 1.0;
    place.z = min(place.z, 1.0);
    float middle = texture(shadow_map, place);
    return filtered(place, 2, 3.0 * APART) == middle ? middle : filtered(place, 4, APART);
}
