#include "runtime/verify/collective_library.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "fake_nccl.hpp"

namespace iris::collective_library_test {
namespace {

using irisgen::Platform;

class CollectiveLibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    handle_ = dlopen(IRISGEN_FAKE_NCCL, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle_, nullptr) << dlerror();
    fake_ = reinterpret_cast<FakeNccl* (*)()>(dlsym(handle_, "fake_nccl_state"))();
    *fake_ = {};
  }
  void TearDown() override { dlclose(handle_); }

  static Problem problem(const std::string& pattern, Dtype dtype, Op op = Op::sum) {
    Problem problem{.pattern = pattern, .dtype = dtype, .result = dtype, .world = 3};
    problem.op = op;
    problem.root = 2;
    problem.extents = {{"m", {.value = 2}}, {"n", {.value = 5}}};
    return problem;
  }

  void* handle_ = nullptr;
  FakeNccl* fake_ = nullptr;
  char input_[256] = {};
  char output_[256] = {};
  void* const stream_ = &input_;
};

TEST_F(CollectiveLibraryTest, SaysItsVersion) {
  EXPECT_EQ(CollectiveLibrary(Platform::nvidia, IRISGEN_FAKE_NCCL).description(), "NCCL 2.28.3");
  EXPECT_EQ(CollectiveLibrary(Platform::amd, IRISGEN_FAKE_NCCL).description(), "RCCL 2.28.3");
}

TEST_F(CollectiveLibraryTest, IsASentenceWithThePackageWhereItIsMissing) {
  try {
    CollectiveLibrary(Platform::amd, "/nowhere/librccl.so.1");
    FAIL();
  } catch (const std::runtime_error& error) {
    const std::string words = error.what();
    EXPECT_NE(words.find("cannot measure against RCCL: "), std::string::npos) << words;
    EXPECT_NE(words.find("/nowhere/librccl.so.1"), std::string::npos) << words;
    EXPECT_NE(words.find("install librccl1"), std::string::npos) << words;
  }
}

/// Counts and types as NCCL's header has them.
TEST_F(CollectiveLibraryTest, EnqueuesWhatAProblemSays) {
  const CollectiveLibrary library(Platform::nvidia, IRISGEN_FAKE_NCCL);
  const Communicator communicator(library, library.make_id(), 3, 1);
  struct Expected {
    const char* pattern;
    Dtype dtype;
    Op op;
    int type;
    int op_or_root;
  };
  for (const auto& [pattern, dtype, op, type, op_or_root] :
       {Expected{"all_reduce", Dtype::bf16, Op::sum, 9, 0}, Expected{"all_reduce", Dtype::i32, Op::prod, 2, 1},
        Expected{"reduce_scatter", Dtype::f16, Op::max, 6, 2}, Expected{"reduce_scatter", Dtype::f64, Op::min, 8, 3},
        Expected{"all_gather", Dtype::f32, Op::sum, 7, -1}, Expected{"broadcast", Dtype::f32, Op::sum, 7, 2}}) {
    fake_->calls.clear();
    communicator.enqueue(problem(pattern, dtype, op), input_, output_, stream_);
    ASSERT_EQ(fake_->calls.size(), 1U) << pattern;
    const FakeNccl::Call& call = fake_->calls[0];
    EXPECT_EQ(call.name, pattern);
    EXPECT_EQ(call.input, input_);
    EXPECT_EQ(call.output, output_);
    EXPECT_EQ(call.count, 10U) << pattern;
    EXPECT_EQ(call.type, type) << pattern;
    EXPECT_EQ(call.op_or_peer, op_or_root) << pattern;
    EXPECT_EQ(call.communicator, reinterpret_cast<void*>(301));
    EXPECT_EQ(call.stream, stream_);
  }
}

TEST_F(CollectiveLibraryTest, ExchangesShardsInOneGroup) {
  const CollectiveLibrary library(Platform::nvidia, IRISGEN_FAKE_NCCL);
  const Communicator communicator(library, library.make_id(), 3, 0);
  communicator.enqueue(problem("all_to_all", Dtype::f32), input_, output_, stream_);
  ASSERT_EQ(fake_->calls.size(), 8U);
  EXPECT_EQ(fake_->calls.front().name, "start");
  EXPECT_EQ(fake_->calls.back().name, "end");
  for (int peer = 0; peer < 3; ++peer) {
    const auto& sent = fake_->calls[static_cast<std::size_t>(1 + 2 * peer)];
    const auto& received = fake_->calls[static_cast<std::size_t>(2 + 2 * peer)];
    EXPECT_EQ(sent.name, "send");
    EXPECT_EQ(sent.input, input_ + std::ptrdiff_t{40} * peer);
    EXPECT_EQ(sent.count, 10U);
    EXPECT_EQ(sent.op_or_peer, peer);
    EXPECT_EQ(received.name, "receive");
    EXPECT_EQ(received.output, output_ + std::ptrdiff_t{40} * peer);
    EXPECT_EQ(received.op_or_peer, peer);
  }
}

TEST_F(CollectiveLibraryTest, GivesBackWhatItMade) {
  const CollectiveLibrary library(Platform::nvidia, IRISGEN_FAKE_NCCL);
  EXPECT_TRUE(library.has_windows());
  {
    const Communicator communicator(library, library.make_id(), 3, 0);
    const LibraryMemory memory(library, 0);
    EXPECT_NE(memory.data(), nullptr);
    EXPECT_EQ(memory.bytes(), 1U);
    const Window window(communicator, memory);
    EXPECT_EQ(fake_->live_windows, 1);
    fake_->refuse_windows = true;
    EXPECT_THROW(Window(communicator, memory), std::runtime_error);
  }
  EXPECT_EQ(fake_->live_communicators, 0);
  EXPECT_EQ(fake_->live_windows, 0);
  EXPECT_EQ(fake_->live_memory, 0);
}

TEST_F(CollectiveLibraryTest, SaysInItsWordsWhatFailed) {
  const CollectiveLibrary library(Platform::nvidia, IRISGEN_FAKE_NCCL);
  fake_->refuse_rank = 1;
  try {
    const Communicator communicator(library, library.make_id(), 3, 1);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()), "ncclCommInitRank of NCCL 2.28.3 failed: invalid argument");
  }
}

}  // namespace
}  // namespace iris::collective_library_test
