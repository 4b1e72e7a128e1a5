#version 330 core

#ifdef SCREEN_DOOR
flat in float opacity;
#endif

void main() {
#ifdef SCREEN_DOOR
    // What is translucent leaves out a half of the map, or a quarter. In cells of 2 x 2 texels this becomes an even,
    // lighter shadow by the filter, whose taps are 1 or 2 texels apart. What is opaque may be a rounding less than 1.
    ivec2 cell = ivec2(gl_FragCoord.xy) / 2 % 2;
    if (opacity < 0.998 && (cell == ivec2(0) || (opacity < 0.75 && cell == ivec2(1)))) discard;
#endif
}
