#include "iris/npy.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "iris/values.hpp"

namespace iris::npy_test {
namespace {

using irisgen::Dtype;
using namespace std::string_literals;

/// A file of this format version with this header text (padded as NumPy does) and this data.
std::string file_of(const std::string& header, const std::string& data, char version = 1) {
  std::string content = "\x93NUMPY"s + version + '\0';
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::string padded = header + std::string(64 - (8 + length_bytes + header.size() + 1) % 64, ' ') + "\n";
  for (std::size_t i = 0; i < length_bytes; ++i) content += static_cast<char>(padded.size() >> (8 * i) & 0xff);
  return content + padded + data;
}

std::string header_of(const std::string& descriptor, const std::string& shape) {
  return "{'descr': '" + descriptor + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

std::string bytes_of_floats(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string error_of(const std::string& content, Dtype wanted = Dtype::f32) {
  try {
    parse_npy(content, wanted, "x.npy");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

void expect_error(const std::string& content, const std::string& part, Dtype wanted = Dtype::f32) {
  const std::string error = error_of(content, wanted);
  EXPECT_TRUE(error.starts_with("x.npy: ")) << error;
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(Npy, ReadsEveryVersionOfTheFormat) {
  for (const char version : {'\1', '\2', '\3'}) {
    const NpyArray array = parse_npy(
        file_of(header_of("<f4", "(2, 3)"), bytes_of_floats({1, 2, 3, 4, 5, 6.5F}), version), Dtype::f32, "x.npy");
    EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(to_values(array.bytes, Dtype::f32), (irisgen::Values{1, 2, 3, 4, 5, 6.5}));
  }
}

TEST(Npy, ReadsScalarsVectorsAndEmptyArrays) {
  EXPECT_TRUE(parse_npy(file_of(header_of("<f4", "()"), "1234"), Dtype::f32, "x.npy").shape.empty());
  EXPECT_EQ(parse_npy(file_of(header_of("<f4", "(1,)"), "1234"), Dtype::f32, "x.npy").shape.size(), 1u);
  EXPECT_TRUE(parse_npy(file_of(header_of("<f4", "(4, 0, 9)"), ""), Dtype::f32, "x.npy").bytes.empty());
}

TEST(Npy, TakesTheHeaderAsPythonWouldWriteItOtherwise) {
  const std::string header = "{\"shape\":(2 , ) ,'fortran_order':False,\"descr\":\"<f4\"}";
  EXPECT_EQ(parse_npy(file_of(header, "12345678"), Dtype::f32, "x.npy").shape, std::vector<std::int64_t>{2});
}

TEST(Npy, RoundsFloatsToBf16AndBack) {
  const float between = 1.0F + 0x1p-8F;  // a tie, to even
  const NpyArray array = parse_npy(
      file_of(header_of("<f4", "(3,)"), bytes_of_floats({between, 1.0F + 0x1.8p-7F, -3.0F})), Dtype::bf16, "x.npy");
  EXPECT_EQ(array.dtype, Dtype::bf16);
  EXPECT_EQ(to_values(array.bytes, Dtype::bf16), (irisgen::Values{1.0, 1.015625, -3.0}));
  const NpyArray again = parse_npy(format_npy(array), Dtype::f32, "x.npy");
  EXPECT_EQ(to_values(again.bytes, Dtype::f32), (irisgen::Values{1.0, 1.015625, -3.0}));
}

TEST(Npy, WritesWhatItReads) {
  const irisgen::Values values = {0, 1, -2, 3, 104, -7};
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::tf32, Dtype::f16, Dtype::bf16, Dtype::e4m3, Dtype::i32}) {
    const NpyArray array{.dtype = dtype, .shape = {3, 2}, .bytes = to_bytes(values, dtype)};
    const std::string content = format_npy(array);
    const NpyArray read = parse_npy(content, dtype, "x.npy");
    EXPECT_EQ(read.shape, array.shape);
    EXPECT_EQ(read.bytes, array.bytes);
  }
}

TEST(Npy, HoldsInF4WhatNumpyHasNot) {
  for (const Dtype dtype : {Dtype::tf32, Dtype::bf16, Dtype::e4m3}) {
    const NpyArray array{.dtype = dtype, .shape = {3}, .bytes = to_bytes(irisgen::Values{1, -2, 104}, dtype)};
    EXPECT_EQ(format_npy(array), file_of(header_of("<f4", "(3,)"), bytes_of_floats({1, -2, 104})));
  }
}

TEST(Npy, AlignsItsDataAsNumpyDoes) {
  const NpyArray array{.dtype = Dtype::f32, .shape = {1}, .bytes = to_bytes(std::vector{1.0}, Dtype::f32)};
  EXPECT_EQ(format_npy(array).size() % 64, 4u);
  EXPECT_EQ(format_npy(array).substr(0, 10), "\x93NUMPY\x01\x00\x76\x00"s);
}

TEST(Npy, RejectsWhatIsNoNpyFile) {
  expect_error("", "is no NumPy .npy file");
  expect_error("PK\x03\x04 a zip", "is no NumPy .npy file");
  expect_error("\x93NUMPY", "ends within its header");
  expect_error("\x93NUMPY\x09\x00"s, "version 9");
}

TEST(Npy, RejectsEveryTruncation) {
  const std::string whole = file_of(header_of("<f4", "(2,)"), "12345678");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(error_of(whole.substr(0, length)), "") << length << " of " << whole.size() << " bytes";
  }
  EXPECT_EQ(error_of(whole), "");
  expect_error(whole + "9", "holds 9 bytes of data");
}

TEST(Npy, RejectsOtherTypesSayingWhatToDo) {
  expect_error(file_of(header_of("<f8", "(1,)"), "12345678"), ".astype('<f4')");
  expect_error(file_of(header_of(">f4", "(1,)"), "1234"), "is big-endian");
  expect_error(file_of(header_of("|O", "(1,)"), "1234"), "'|O'");
  expect_error(file_of(header_of("<f4", "(1,)"), "1234"), "f16 needs '<f2'", Dtype::f16);
  expect_error(file_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234"), "records");
}

TEST(Npy, RejectsFortranOrderUnlessItMakesNoDifference) {
  const auto header = [](const std::string& shape) {
    return "{'descr': '<f4', 'fortran_order': True, 'shape': " + shape + ", }";
  };
  expect_error(file_of(header("(2, 2)"), std::string(16, 'x')), "Fortran order");
  EXPECT_EQ(error_of(file_of(header("(4,)"), std::string(16, 'x'))), "");
}

TEST(Npy, RejectsShapesThatLieOrOverflow) {
  expect_error(file_of(header_of("<f4", "(3,)"), "12345678"), "promises the shape (3,), 12 bytes, but holds 8");
  expect_error(file_of(header_of("<f4", "(-1,)"), ""), "numbers from 0");
  expect_error(file_of(header_of("<f4", "(9223372036854775808,)"), ""), "numbers from 0");
  expect_error(file_of(header_of("<f4", "(1099511627777,)"), ""), "numbers from 0 to 2^40");
  expect_error(file_of(header_of("<f4", "(9223372036854775807, 0)"), ""), "numbers from 0 to 2^40");
  expect_error(file_of(header_of("<f4", "(1099511627776, 1099511627776)"), ""), "more than 2^62 bytes");
  expect_error(file_of(header_of("<f4", "(4294967296, 4294967296)"), ""), "more than 2^62 bytes");
}

/// What a file says reaches a terminal.
TEST(Npy, ShowsNoEscapeSequenceOfAHeader) {
  for (const std::string& header :
       {header_of("\x1b[31m<f4", "(3,)"), std::string("{'descr': '<f4', '\x1b]0;title\x07': 1}")}) {
    const std::string error = error_of(file_of(header, "123456789012"));
    EXPECT_NE(error, "");
    EXPECT_EQ(error.find('\x1b'), std::string::npos) << error;
  }
}

TEST(Npy, RejectsMalformedHeaders) {
  for (const char* header :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}", "{'descr: '<f4'}", "{'descr' '<f4'}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (x,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} and more",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,"}) {
    EXPECT_NE(error_of(file_of(header, "1234")), "") << header;
  }
}

TEST(Npy, WritesFilesInOnePiece) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "irisgen_npy_test";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "a.npy").string();
  const NpyArray array{.dtype = Dtype::i32, .shape = {2}, .bytes = to_bytes(std::vector{5.0, -6.0}, Dtype::i32)};
  write_npy(path, array);
  write_npy(path, array);
  EXPECT_EQ(read_npy(path, Dtype::i32).bytes, array.bytes);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  std::filesystem::remove_all(folder);
  EXPECT_THROW(write_npy(path, array), std::runtime_error);
  EXPECT_THROW(read_npy(path, Dtype::i32), std::runtime_error);
}

}  // namespace
}  // namespace iris::npy_test
