// Ridge regression by conjugate gradients, the rows of the data divided among the ranks of MPI: the last of 256 columns
// of a network's activations is predicted from the others. The one sum of each iteration is an irisgen kernel's.
//
//   mpirun -n 4 regression DATA_FOLDER SOLUTION_FILE [TARGET]
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iris/mpi.hpp>
#include <iris/world.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "vector_sum.hpp"

namespace {

using Vector = std::vector<double>;
constexpr std::size_t features = 255;
constexpr double ridge = 1;

double from_f16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 != 0 ? -size : size;
}

/// This rank's rows, of 256 columns each; one file after another.
Vector read_rows(const std::string& folder, int rank, int size) {
  Vector rows;
  for (int number = rank; number < 8; number += size) {
    std::ifstream file(folder + "/activation_rank" + std::to_string(number) + ".npy", std::ios::binary);
    char header[10] = {};  // of NumPy's: its length is in the last two bytes
    std::uint16_t bits = 0;
    file.read(header, sizeof header);
    file.ignore(static_cast<unsigned char>(header[8]) + 256 * static_cast<unsigned char>(header[9]));
    if (!file) throw std::runtime_error("cannot read the activations in " + folder);
    while (file.read(reinterpret_cast<char*>(&bits), sizeof bits)) rows.push_back(from_f16(bits));
  }
  return rows;
}

/// Aᵀ(A·x + b·factor) of these rows.
Vector multiply(const Vector& rows, const Vector& x, double factor) {
  Vector y(features);
  for (std::size_t row = 0; row < rows.size(); row += features + 1) {
    double product = rows[row + features] * factor;
    for (std::size_t i = 0; i < features; ++i) product += rows[row + i] * x[i];
    for (std::size_t i = 0; i < features; ++i) y[i] += rows[row + i] * product;
  }
  return y;
}

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < features; ++i) sum += a[i] * b[i];
  return sum;
}

/// Solves (AᵀA + ridge)·x = Aᵀb. `sum_over_ranks` was MPI_Allreduce.
template <typename Sum>
Vector solve(const Vector& rows, Sum sum_over_ranks, int& iterations) {
  Vector x(features);
  Vector residual = sum_over_ranks(multiply(rows, x, 1));
  Vector direction = residual;
  double squared = dot(residual, residual);
  const double enough = 1e-24 * squared;
  for (iterations = 0; squared > enough && iterations < 2000; ++iterations) {
    Vector image = sum_over_ranks(multiply(rows, direction, 0));
    for (std::size_t i = 0; i < features; ++i) image[i] += ridge * direction[i];
    const double step = squared / dot(direction, image);
    for (std::size_t i = 0; i < features; ++i) x[i] += step * direction[i];
    for (std::size_t i = 0; i < features; ++i) residual[i] -= step * image[i];
    const double before = std::exchange(squared, dot(residual, residual));
    for (std::size_t i = 0; i < features; ++i) direction[i] = residual[i] + squared / before * direction[i];
  }
  return x;
}

void run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) throw std::runtime_error("regression DATA_FOLDER SOLUTION_FILE [TARGET]");
  const std::string target = arguments.size() > 2 ? arguments[2] : "host";
  auto world = iris::World::join({.target = target, .heap_bytes = 1 << 20}, iris::mpi_bootstrap(MPI_COMM_WORLD));
  world.run([&](iris::Context& rank) {
    const Vector rows = read_rows(arguments[0], rank.rank(), rank.num_ranks());
    regression::kernels::VectorSum vector_sum(rank);
    auto* input = static_cast<double*>(rank.allocate(features * sizeof(double)));
    auto* output = static_cast<double*>(rank.allocate(features * sizeof(double)));
    const auto sum_over_ranks = [&](Vector y) {
      rank.device().copy(input, y.data(), features * sizeof(double));
      vector_sum(input, output);
      rank.synchronize();
      rank.device().copy(y.data(), output, features * sizeof(double));
      return y;
    };
    int iterations = 0;
    const Vector x = solve(rows, sum_over_ranks, iterations);
    if (rank.rank() != 0) return;
    std::ofstream file(arguments[1]);
    file.precision(17);
    for (const double value : x) file << value << '\n';
    std::printf("%zu coefficients on %d ranks after %d iterations\n", features, rank.num_ranks(), iterations);
  });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
