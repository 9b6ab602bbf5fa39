// Not a header of its own: included right after HWY_BEFORE_NAMESPACE(), whose
// end undoes it. Highway requires the 8-bit dot instructions of a machine
// before it chooses AVX3_DL, but does not ask the compiler for them.
#if HWY_TARGET == HWY_AVX3_DL && HWY_COMPILER_GCC_ACTUAL
#pragma GCC target("avx512vnni")
#endif
