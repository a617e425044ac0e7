#include "runtime/world/heap_memory.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "runtime/system/log.hpp"
#include "runtime/system/whole_units.hpp"
#include "runtime/world/packing.hpp"

namespace iris {

namespace {

/// A heap grows by a part of what it has, so that many small allocations make it grow seldom.
constexpr std::size_t least_growth = std::size_t{2} << 20;
constexpr std::size_t most_growth_unasked = std::size_t{1} << 30;

}  // namespace

HeapSizes heap_sizes(const WorldOptions& options, const MemoryGrowth& growth) {
  const std::size_t wanted = options.heap_limit;
  const std::size_t first = wanted != 0 ? std::min(options.heap_bytes, wanted) : options.heap_bytes;
  if (!growth.refusal.empty()) return {first, first, growth.refusal};
  return {first, wanted != 0 ? wanted : std::max(first, growth.limit)};
}

std::size_t HeapMemory::MappedHeap::bytes() const {
  return std::accumulate(pieces.begin(), pieces.end(), std::size_t{0},
                         [](std::size_t sum, const Piece& piece) { return sum + piece.bytes; });
}

void HeapMemory::MappedHeap::remove_last() noexcept {
  range->remove_last();
  pieces.pop_back();
}

/// Files of another process's pieces from the one of this number on; what is mapped already is left as it is.
void HeapMemory::MappedHeap::import_from(std::size_t number, std::span<const Descriptor> files,
                                         const std::vector<Piece>& all) {
  pieces.reserve(number + files.size());
  for (const Descriptor& file : files) {
    if (pieces.size() == number) {
      const Piece& piece = all.at(number);
      range->add_imported(file.get(), piece.bytes);
      pieces.push_back(piece);
    }
    ++number;
  }
}

/// Takes back what is mapped from its making on, unless it is kept.
class HeapMemory::Undo {
 public:
  explicit Undo(HeapMemory& memory) : memory_(memory) {
    counts_.reserve(memory.heaps_.size());
    for (const MappedHeap& heap : memory.heaps_) counts_.push_back(heap.pieces.size());
  }
  ~Undo() {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      while (memory_.heaps_[i].pieces.size() > counts_[i]) memory_.heaps_[i].remove_last();
    }
  }
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;

  void keep() { counts_.clear(); }

 private:
  HeapMemory& memory_;
  std::vector<std::size_t> counts_;
};

HeapMemory::HeapMemory(Device& device, const HeapSizes& sizes, int rank, int world, std::vector<int> devices)
    : device_(device), sizes_(sizes), rank_(rank), heaps_(static_cast<std::size_t>(world)) {
  own().range =
      device.reserve({.bytes = sizes.limit, .grows = sizes.limit > sizes.first, .devices = std::move(devices)});
}

HeapMemory::HeapMemory(Device& device, const HeapSizes& sizes, int rank, int world)
    : device_(device), sizes_(sizes), rank_(rank), heaps_(static_cast<std::size_t>(world)) {
  for (MappedHeap& heap : heaps_) {
    heap.range = device.reserve({.bytes = sizes.limit, .grows = sizes.limit > sizes.first, .among_processes = true});
  }
}

std::size_t HeapMemory::mapped() const {
  return std::min(own().bytes(), sizes_.limit);
}

char* HeapMemory::begin_of(int rank) const {
  return heaps_[static_cast<std::size_t>(rank)].range->begin();
}

void HeapMemory::map_first() {
  add_piece(round_up(sizes_.first));
}

std::string HeapMemory::status() const {
  std::vector<std::uint64_t> seen;
  seen.reserve(heaps_.size());
  for (const MappedHeap& heap : heaps_) seen.push_back(heap.pieces.empty() ? 0 : heap.pieces.back().serial);
  return pack({pack_values(own().pieces), pack_values(seen)});
}

void HeapMemory::cover(Collectives& members, const std::string& call, std::size_t end,
                       std::span<const std::string> statuses) {
  const std::vector<int>& ranks = members.ranks();
  std::vector<Status> known;
  known.reserve(statuses.size());
  for (const std::string& status : statuses) known.push_back(parse(status));

  // How many of each one's pieces all others have: those behind go to all, who take what they lack.
  std::vector<std::size_t> first;
  bool is_covered = true;
  for (std::size_t owner = 0; owner < known.size(); ++owner) {
    const std::vector<Piece>& pieces = known[owner].pieces;
    std::size_t common = pieces.size();
    for (std::size_t viewer = 0; viewer < known.size() && !members.share_addresses(); ++viewer) {
      if (viewer == owner) continue;
      common = std::min(common, pieces_seen(pieces, known[viewer].seen[static_cast<std::size_t>(ranks[owner])]));
    }
    first.push_back(common);
    is_covered = is_covered && common >= pieces_under(pieces, end);
  }
  if (is_covered) return;
  const std::size_t before = own().bytes();

  for (std::size_t i = 0; i < known.size() && !members.share_addresses(); ++i) {
    if (ranks[i] != rank_) drop_stale(ranks[i], known[i].pieces);
  }
  Undo undo(*this);
  Collectives::Files files;
  files.error = words_of_attempt([&] {
    grow(end, known);
    if (members.share_addresses()) return;
    const std::size_t needed = pieces_under(own().pieces, end);
    for (std::size_t number = first[static_cast<std::size_t>(members.rank())]; number < needed; ++number) {
      files.own.emplace_back(own().range->export_piece(number));
    }
  });
  const CollectiveCall step{.call = call, .state = {}};
  std::vector<std::vector<Piece>> pieces;
  for (const std::string& said : members.all_gather_or_fail(step, files.error, pack_values(own().pieces))) {
    pieces.push_back(unpack_values<Piece>(said));
  }
  if (!members.share_addresses() && ranks.size() > 1) {
    members.hand_over(step, files, [&](int member, const std::vector<Descriptor>& given) {
      const auto i = static_cast<std::size_t>(member);
      MappedHeap& heap = heaps_[static_cast<std::size_t>(ranks[i])];
      const std::string why = words_of_attempt([&] { heap.import_from(first[i], given, pieces[i]); });
      if (!why.empty()) throw std::runtime_error("the symmetric heap of another rank cannot be mapped: " + why);
    });
  }
  undo.keep();
  if (before == 0) return;
  log(LogLevel::info, [&] {
    return "for " + call + " the symmetric heap is mapped up to " + std::to_string(mapped()) + " bytes of at most " +
           std::to_string(sizes_.limit);
  });
}

std::size_t HeapMemory::trim(Collectives& members, const std::string& call, std::size_t used) {
  MappedHeap& mine = own();
  const std::size_t before = mine.bytes();
  const std::size_t kept = pieces_under(mine.pieces, std::max({used, sizes_.first, std::size_t{1}}));
  if (!members.share_addresses()) {
    const std::vector remaining(mine.pieces.begin(), mine.pieces.begin() + static_cast<std::ptrdiff_t>(kept));
    const std::vector<std::string> said = members.all_gather({.call = call, .state = {}}, pack_values(remaining));
    for (int rank = 0; rank < static_cast<int>(said.size()); ++rank) {
      if (rank != rank_) drop_stale(rank, unpack_values<Piece>(said[static_cast<std::size_t>(rank)]));
    }
    members.barrier({.call = call, .state = {}});  // nobody has it mapped any more
  }
  while (mine.pieces.size() > kept) mine.remove_last();
  return before - mine.bytes();
}

HeapMemory::Status HeapMemory::parse(const std::string& status) {
  const std::vector<std::string> texts = unpack(status, 2);
  return {.pieces = unpack_values<Piece>(texts[0]), .seen = unpack_values<std::uint64_t>(texts[1])};
}

/// Of an owner's, by who has this one as the last. None, if the owner has that no more.
std::size_t HeapMemory::pieces_seen(const std::vector<Piece>& pieces, std::uint64_t last) {
  const auto found = std::ranges::find(pieces, last, &Piece::serial);
  return found == pieces.end() ? 0 : static_cast<std::size_t>(found - pieces.begin()) + 1;
}

/// How many of them lie under the first `end` bytes; one more than there are if that is not all.
std::size_t HeapMemory::pieces_under(const std::vector<Piece>& pieces, std::size_t end) {
  std::size_t bytes = 0;
  std::size_t count = 0;
  while (count < pieces.size() && bytes < end) bytes += pieces[count++].bytes;
  return bytes < end ? count + 1 : count;
}

std::size_t HeapMemory::round_up(std::size_t bytes) const {
  return whole_units(bytes, own().range->unit());
}

void HeapMemory::add_piece(std::size_t bytes) {
  own().pieces.reserve(own().pieces.size() + 1);
  own().range->add(bytes);
  own().pieces.push_back({++last_serial_, bytes});
}

/// Maps this rank's own heap up to `end`, and some more if there is enough.
void HeapMemory::grow(std::size_t end, std::span<const Status> known) {
  const std::size_t mapped = own().bytes();
  if (mapped >= end) return;
  if (mapped == 0) return add_piece(round_up(end));
  std::uint64_t growing = 0;
  for (const Status& status : known) {
    const MappedHeap heap{.range = nullptr, .pieces = status.pieces};
    growing += end - std::min(end, heap.bytes());
  }
  const std::uint64_t available = device_.available_bytes();
  const std::string call =
      "the symmetric heap cannot grow from " + std::to_string(mapped) + " to " + std::to_string(end) + " bytes: ";
  if (growing > available) {
    throw std::runtime_error(call + "all ranks that grow take " + std::to_string(growing) +
                             " more of this machine's memory, but " + std::to_string(available) +
                             " are available; free something, or allocate less");
  }
  const std::size_t needed = round_up(end - mapped);
  const std::size_t generous = std::clamp(round_up(mapped / 4), least_growth, most_growth_unasked);
  const std::size_t bytes = std::min(std::max(needed, generous), round_up(sizes_.limit) - mapped);
  const bool has_more = bytes > needed && bytes <= available / known.size();
  if (has_more && words_of_attempt([&] { add_piece(bytes); }).empty()) return;
  const std::string why = words_of_attempt([&] { add_piece(needed); });
  if (!why.empty()) throw std::runtime_error(call + why);
}

/// What is mapped here of another rank's heap and is no part of it any more.
void HeapMemory::drop_stale(int rank, const std::vector<Piece>& pieces) noexcept {
  MappedHeap& heap = heaps_[static_cast<std::size_t>(rank)];
  while (!heap.pieces.empty() && pieces_seen(pieces, heap.pieces.back().serial) != heap.pieces.size()) {
    heap.remove_last();
  }
}

}  // namespace iris
