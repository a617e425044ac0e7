#include "runtime/jit/clang/import/plain.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>
#include <charconv>

#include "runtime/jit/clang/import/device_code.hpp"
#include "runtime/jit/clang/import/kernels.hpp"
#include "runtime/jit/clang/import/parameters.hpp"

namespace iris::clang_library::importing {
namespace {

using nlohmann::json;
using Kind = Parameter::Kind;

class Plain {
 public:
  Plain(const Parsed& parsed, const clang::FunctionDecl& kernel, Changes& changes)
      : parsed_(parsed),
        kernel_(kernel),
        changes_(changes),
        reached_(reached_from(parsed, kernel)),
        parameters_(parameters_of(kernel, reached_)),
        launch_(launch_of(parsed, kernel)) {}

  json describe(const std::vector<MissingInclude>& missing) {
    for (const Parameter& parameter : parameters_) add_change_of(parameter);
    add_change_of_template();
    for (const clang::FunctionDecl* function : reached_) find_changes_in(*function, changes_);
    add_what_clang_says();
    add_host_code();
    add_signature();
    add_includes(missing);
    return facts();
  }

 private:
  const clang::TemplateParameterList* template_parameters() const {
    const auto* as_template = kernel_.getDescribedFunctionTemplate();
    return as_template == nullptr ? nullptr : as_template->getTemplateParameters();
  }

  void add_change_of(const Parameter& parameter) {
    const std::string name = "'" + parameter.name + "'";
    const clang::SourceRange where = parameter.decl->getSourceRange();
    switch (parameter.kind) {
      case Kind::peers:
        changes_.want_include("iris/device/rma.hpp");
        changes_.add("import-peers", parameter.name, where,
                     name + " holds pointers to every rank's memory; make it one buffer of this rank, " +
                         parameter.declaration() + ", and write load(context, " + parameter.name +
                         " + i, peer), store(context, " + parameter.name + " + i, value, peer) or on_rank(context, " +
                         parameter.name + ", peer)");
        break;
      case Kind::flags:
        changes_.want_include("iris/device/signal.hpp");
        changes_.add("import-flag", parameter.name, where,
                     name +
                         " is what ranks tell one another by; remove it: const i64 first = flags<N>(launch); "
                         "reserves N flags on every rank, which signal_release(launch, first + i, step, peer) and "
                         "block_wait_acquire(launch, first + i, step, peer, Wait::step) use");
        break;
      case Kind::rank:
        changes_.add("import-rank", parameter.name, where, name + ": remove it, and write context.rank");
        break;
      case Kind::world:
        changes_.add("import-rank", parameter.name, where, name + ": remove it, and write Config::world");
        break;
      case Kind::counter:
        changes_.add("import-flag", parameter.name, where,
                     name + ": remove it; flags count launches by themselves, and steps within a launch are numbers");
        break;
      case Kind::extent:
        if (parameter.decl->getType().getCanonicalType().getUnqualifiedType().getAsString() != "long long")
          changes_.add("import-extent", parameter.name, where,
                       name + " is an extent of the shape: write i64 " + parameter.name);
        break;
      case Kind::scalar:
        if (parameter.decl->getType()->isSpecificBuiltinType(clang::BuiltinType::Float) ||
            parameter.decl->getType()->isSpecificBuiltinType(clang::BuiltinType::Double) ||
            parameter.decl->getType()->isBooleanType())
          break;
        changes_.add("import-scalar", parameter.name, where,
                     name + " is a number of each launch: write " + parameter.declaration() + ", and convert it");
        break;
      default:
        add_change_of_buffer(parameter, where);
    }
  }

  void add_change_of_buffer(const Parameter& parameter, clang::SourceRange where) {
    const std::string name = "'" + parameter.name + "'";
    if (parameter.kind == Kind::other) {
      changes_.add("import-parameter", parameter.name, where,
                   name + ": what is passed are buffers and extents; make of it what the kernel takes from it");
    } else if (parameter.element.empty()) {
      changes_.add("import-type", parameter.name, where,
                   name + " points to '" +
                       parameter.decl->getType()->getPointeeType().getUnqualifiedType().getAsString() +
                       "'; buffers are of f64, f32, f16, bf16, e4m3 or i32");
    } else if (is_vector(parameter)) {
      changes_.want_include("iris/device/pack.hpp");
      changes_.add("import-type", parameter.name, where,
                   name + " points to '" +
                       parameter.decl->getType()->getPointeeType().getUnqualifiedType().getAsString() + "'; write " +
                       parameter.declaration() + ", whose extents count elements, and load_pack<width>()");
    } else if (parameter.access() == "read" && !parameter.decl->getType()->getPointeeType().isConstQualified()) {
      changes_.add("import-const", parameter.name, where,
                   name + " is only read; write " + parameter.declaration() + ", which says so");
    }
  }

  /// Of float4 and its like.
  static bool is_vector(const Parameter& parameter) {
    const clang::CXXRecordDecl* record = parameter.decl->getType()->getPointeeCXXRecordDecl();
    const llvm::StringRef name = record == nullptr ? "" : record->getName();
    return name.ends_with("2") || (name.ends_with("3") && !name.ends_with("m3")) || name.ends_with("4");
  }

  void add_change_of_template() {
    const clang::TemplateParameterList* parameters = template_parameters();
    if (parameters == nullptr) return;
    for (const clang::NamedDecl* one : *parameters) {
      const std::string name = one->getNameAsString();
      const bool is_type = llvm::isa<clang::TemplateTypeParmDecl>(one);
      changes_.add("import-template", name, one->getSourceRange(),
                   "'" + name + "': a kernel is a template over one type, Config; " +
                       (is_type ? "write using " + name + " = typename Config::Element; in the kernel"
                                : "write constexpr auto " + name + " = Config::" + (is_world(name) ? "world" : name) +
                                      "; in the kernel"));
    }
  }

  bool stands_in(clang::SourceLocation begin, clang::SourceLocation end, const Place& place) const {
    const clang::PresumedLoc first = parsed_.sources().getPresumedLoc(parsed_.sources().getExpansionLoc(begin));
    const clang::PresumedLoc last = parsed_.sources().getPresumedLoc(parsed_.sources().getExpansionLoc(end));
    return first.isValid() && last.isValid() && place.file == first.getFilename() &&
           static_cast<int>(first.getLine()) <= place.line && place.line <= static_cast<int>(last.getLine());
  }

  /// Of names that Clang does not know, those of libraries have their remedy; others are shown as they are. What host
  /// code does not know, for want of its headers, is nobody's concern.
  void add_what_clang_says() {
    for (const Diagnostic& said : parsed_.diagnostics()) {
      if (said.severity != "error") continue;
      const bool is_device = std::ranges::any_of(reached_, [&](const clang::FunctionDecl* function) {
        return stands_in(function->getBeginLoc(), function->getEndLoc(), said.place);
      });
      if (!is_device) continue;
      const std::size_t begin = said.message.find('\'');
      const std::size_t end = begin == std::string::npos ? begin : said.message.find('\'', begin + 1);
      const std::string name = end == std::string::npos ? "" : said.message.substr(begin + 1, end - begin - 1);
      Diagnostic change = said;
      change.severity = "warning";
      change.notes.clear();
      change.fix_its.clear();
      if (const Remedy* remedy = name.empty() ? nullptr : remedy_of(name)) {
        if (changes_.has(*remedy, name)) continue;
        if (!remedy->include.empty()) changes_.want_include(remedy->include);
        change.rule = remedy->rule;
        change.message = "'" + name + "': " + std::string(remedy->text);
      } else {
        change.rule = "import-unknown";
        change.message += "; a kernel has the vocabulary and what its own files define";
      }
      changes_.add(std::move(change));
    }
  }

  void add_host_code() {
    for (const clang::FunctionDecl* function : host_functions_of(parsed_)) {
      if (std::ranges::find(reached_, function) != reached_.end() ||
          function->getDescribedFunctionTemplate() != nullptr)
        continue;
      changes_.add(
          "import-host", "code", clang::SourceRange(function->getLocation()),
          "'" + function->getNameAsString() +
              "' runs on the host: leave it out; irisgen generates a typed launcher, and gives buffers, flags and "
              "streams their places");
    }
  }

  void add_signature() {
    std::string list = "const Context& context";
    for (const Parameter& parameter : parameters_) {
      const std::string declaration = parameter.declaration();
      if (!declaration.empty()) list += ", " + declaration;
    }
    changes_.want_include("iris/device/launch.hpp");
    changes_.add("import-entry", "", clang::SourceRange(kernel_.getLocation()),
                 "the entry is launched by irisgen; write template <typename Config> __device__ void " +
                     kernel_.getNameAsString() + "(" + list +
                     "), which begins with Launch<Config> launch(context); where it signals or waits");
  }

  void add_includes(const std::vector<MissingInclude>& missing) {
    std::string wanted;
    for (const std::string& header : changes_.includes()) wanted += " <" + header + ">";
    for (const MissingInclude& include : missing) {
      changes_.add(
          "import-include", "", clang::SourceRange(include.where),
          "'" + include.path +
              "' is not there for kernels, which are freestanding; remove it, and include what is needed of:" + wanted);
    }
    if (missing.empty())
      changes_.add("import-include", "", clang::SourceRange(kernel_.getLocation()),
                   "include what is needed of:" + wanted + ", and write using namespace iris::device;");
  }

  /// As descriptions call a type that a launch names; empty for another.
  static std::string dtype_of(const std::string& type) {
    if (type == "float") return "f32";
    if (type == "double") return "f64";
    if (type == "int") return "i32";
    if (type.find("bfloat16") != std::string::npos) return "bf16";
    if (type.find("half") != std::string::npos) return "f16";
    return "";
  }

  json facts() const {
    json kernel = {{"complete", false},
                   {"entry", kernel_.getNameAsString()},
                   {"name", kernel_.getNameAsString()},
                   {"dtype", ""},
                   {"world", 0},
                   {"blocks", launch_.blocks},
                   {"threads", launch_.threads},
                   {"extents", json::array()},
                   {"constants", json::array()},
                   {"scalars", json::array()},
                   {"arguments", json::array()}};
    for (const Parameter& parameter : parameters_) {
      if (parameter.kind == Kind::extent) kernel["extents"].push_back({{"name", parameter.name}, {"value", 0}});
      if (parameter.kind == Kind::scalar) kernel["scalars"].push_back(parameter.name);
      if (!parameter.is_memory()) continue;
      kernel["arguments"].push_back({{"name", parameter.name},
                                     {"access", parameter.access()},
                                     {"dtype", parameter.element == "Element" ? "" : parameter.element},
                                     {"symmetric", parameter.kind == Kind::peers}});
      const bool is_first = kernel["dtype"].get<std::string>().empty();
      if (is_first && parameter.element != "Element") kernel["dtype"] = parameter.element;
    }
    add_template_arguments(kernel);
    return kernel;
  }

  void add_template_arguments(json& kernel) const {
    const clang::TemplateParameterList* parameters = template_parameters();
    for (unsigned i = 0; parameters != nullptr && i < parameters->size(); ++i) {
      const clang::NamedDecl* one = parameters->getParam(i);
      const std::string given = i < launch_.arguments.size() ? launch_.arguments[i] : "";
      if (llvm::isa<clang::TemplateTypeParmDecl>(one)) {
        if (const std::string dtype = dtype_of(given); !dtype.empty()) kernel["dtype"] = dtype;
        continue;
      }
      int value = 0;
      const auto read = std::from_chars(given.data(), given.data() + given.size(), value);
      const bool known = !given.empty() && read.ec == std::errc() && read.ptr == given.data() + given.size();
      const std::string name = one->getNameAsString();
      if (is_world(name)) {
        kernel["world"] = known ? value : 0;
        continue;
      }
      kernel["constants"].push_back({{"name", name}, {"value", value}, {"known", known}});
    }
  }

  const Parsed& parsed_;
  const clang::FunctionDecl& kernel_;
  Changes& changes_;
  std::vector<const clang::FunctionDecl*> reached_;
  std::vector<Parameter> parameters_;
  FoundLaunch launch_;
};

}  // namespace

json describe_plain(const Parsed& parsed, const clang::FunctionDecl& kernel, const std::vector<MissingInclude>& missing,
                    Changes& changes) {
  return Plain(parsed, kernel, changes).describe(missing);
}

}  // namespace iris::clang_library::importing
