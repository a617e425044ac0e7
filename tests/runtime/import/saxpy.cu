extern "C" __global__ void saxpy(float a, const float* x, float* y, long long n) {
  const long long i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
