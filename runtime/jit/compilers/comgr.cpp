#include "runtime/jit/compilers/comgr.hpp"

#include <charconv>

namespace iris {
namespace {

constexpr int status_success = 0;
constexpr int kind_executable = 8;  // AMD_COMGR_DATA_KIND_EXECUTABLE

}  // namespace

/// The functions of libamd_comgr that we use, as amd_comgr.h (versions 2 and 3) declares them.
struct ComgrFunctions {
  /// amd_comgr_data_t and amd_comgr_metadata_node_t: both are a struct of one such number.
  struct Handle {
    std::uint64_t number = 0;
  };

  int (*isa_count)(std::size_t*);
  int (*isa_name)(std::size_t, const char**);
  int (*create_data)(int, Handle*);
  int (*release_data)(Handle);
  int (*set_data)(Handle, std::size_t, const char*);
  int (*data_metadata)(Handle, Handle*);
  int (*destroy_metadata)(Handle);
  int (*lookup)(Handle, const char*, Handle*);
  int (*list_size)(Handle, std::size_t*);
  int (*list_item)(Handle, std::size_t, Handle*);
  int (*text)(Handle, std::size_t*, char*);

  explicit ComgrFunctions(const DynamicLibrary& library) {
    library.bind(isa_count, "amd_comgr_get_isa_count");
    library.bind(isa_name, "amd_comgr_get_isa_name");
    library.bind(create_data, "amd_comgr_create_data");
    library.bind(release_data, "amd_comgr_release_data");
    library.bind(set_data, "amd_comgr_set_data");
    library.bind(data_metadata, "amd_comgr_get_data_metadata");
    library.bind(destroy_metadata, "amd_comgr_destroy_metadata");
    library.bind(lookup, "amd_comgr_metadata_lookup");
    library.bind(list_size, "amd_comgr_get_metadata_list_size");
    library.bind(list_item, "amd_comgr_index_list_metadata");
    library.bind(text, "amd_comgr_get_metadata_string");
  }
};

namespace {

/// A metadata node. Empty where a look-up found nothing; every question to an empty one answers with nothing.
class Node {
 public:
  explicit Node(const ComgrFunctions& functions) : functions_(&functions) {}
  ~Node() {
    if (there_) functions_->destroy_metadata(handle_);
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  Node(Node&& other) noexcept : functions_(other.functions_), handle_(other.handle_), there_(other.there_) {
    other.there_ = false;
  }
  Node& operator=(Node&&) = delete;

  static Node of_data(const ComgrFunctions& functions, ComgrFunctions::Handle data) {
    Node node(functions);
    node.there_ = functions.data_metadata(data, &node.handle_) == status_success;
    return node;
  }
  Node at(const char* key) const {
    Node node(*functions_);
    node.there_ = there_ && functions_->lookup(handle_, key, &node.handle_) == status_success;
    return node;
  }
  Node at(std::size_t index) const {
    Node node(*functions_);
    node.there_ = there_ && functions_->list_item(handle_, index, &node.handle_) == status_success;
    return node;
  }
  std::size_t size() const {
    std::size_t size = 0;
    return there_ && functions_->list_size(handle_, &size) == status_success ? size : 0;
  }
  std::string text() const {
    std::size_t size = 0;  // with the zero at the end
    if (!there_ || functions_->text(handle_, &size, nullptr) != status_success || size == 0) return {};
    std::string text(size, '\0');
    functions_->text(handle_, &size, text.data());
    text.resize(size - 1);
    return text;
  }
  std::optional<int> number() const {
    const std::string digits = text();
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && !digits.empty() ? std::optional(value) : std::nullopt;
  }

 private:
  const ComgrFunctions* functions_;
  ComgrFunctions::Handle handle_;
  bool there_ = false;
};

DynamicLibrary open_comgr() {
  const std::vector<std::string> names = {"libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so",
                                          "/opt/rocm/lib/libamd_comgr.so"};
  return DynamicLibrary::open_first(names);
}

}  // namespace

Comgr::Comgr() : library_(open_comgr()), functions_(std::make_unique<ComgrFunctions>(library_)) {}
Comgr::~Comgr() = default;
Comgr::Comgr(Comgr&&) noexcept = default;

std::vector<std::string> Comgr::targets() const {
  std::vector<std::string> names;
  std::size_t count = 0;
  if (functions_->isa_count(&count) != status_success) return names;
  for (std::size_t i = 0; i < count; ++i) {
    const char* isa = nullptr;  // amdgcn-amd-amdhsa--gfx90a
    if (functions_->isa_name(i, &isa) != status_success || isa == nullptr) continue;
    const std::string name(isa);
    const std::size_t start = name.rfind("--");
    if (start != std::string::npos) names.push_back(name.substr(start + 2));
  }
  return names;
}

Resources Comgr::resources(const std::vector<std::byte>& code, const std::string& symbol) const {
  ComgrFunctions::Handle data;
  if (functions_->create_data(kind_executable, &data) != status_success) return {};
  const std::shared_ptr<void> release(nullptr, [&](void*) { functions_->release_data(data); });
  if (functions_->set_data(data, code.size(), reinterpret_cast<const char*>(code.data())) != status_success) return {};
  const Node root = Node::of_data(*functions_, data);
  const Node kernels = root.at("amdhsa.kernels");
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Node kernel = kernels.at(i);
    if (kernel.at(".name").text() != symbol) continue;
    // .vgpr_count counts the accumulation registers in.
    return {kernel.at(".vgpr_count").number(), kernel.at(".sgpr_count").number(),
            kernel.at(".group_segment_fixed_size").number(), kernel.at(".private_segment_fixed_size").number()};
  }
  return {};
}

}  // namespace iris
