#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include "generator/language/spec_rules.hpp"
#include "generator/language/unicode.hpp"
#include "generator/plan/describe.hpp"
#include "generator/plan/expression.hpp"
#include "generator/plan/planning.hpp"
#include "irisgen/source_reader.hpp"

namespace irisgen {
namespace {

constexpr std::array<std::string_view, 3> keys = {"blocks", "threads", "vector"};

/// What the emitted entry's launch bounds are made of, whether or not the source reads them.
bool is_of_launch(std::string_view constant) {
  return constant == "blocks" || constant == "threads" || constant == "waves_per_eu" || constant == "min_blocks_per_sm";
}

/// Collects what is wrong with one kernel.
class UserPlanning {
 public:
  explicit UserPlanning(const Request& request)
      : request_(request), user_(request.spec.user.value()), report_(user_.source, "") {}

  Draft plan() {
    KernelPlan kernel = start_kernel(request_, "");
    const auto& extents = request_.problem.extents;
    const bool last_is_known = !extents.empty() && !extents.back().extent.dynamic;
    const int vector = choose_vector(request_, kernel, request_.problem.dtype,
                                     last_is_known ? std::optional(extents.back().extent.value) : std::nullopt);
    const bool is_static = request_.problem.is_static();
    decide_grid(request_, kernel, is_static ? std::optional(iris::size_of(request_.problem)) : std::nullopt, vector);
    choose_unroll(request_, kernel, 1);
    add_types(request_, kernel, {.result = true, .accumulate = true});
    add_constants(kernel);
    report_.throw_if_any();

    const KernelSource source = read(kernel);
    refuse_main_loops(source);
    check_launch(kernel, source);
    keep_used(kernel, source);
    kernel.waits = source.waits;
    kernel.waits_for_ranks = source.waits;
    bound_grid(request_, kernel);
    kernel.flags = kernel.number("blocks") * request_.problem.world + source.flags;
    kernel.workspace = both_buffers(source.workspace);
    kernel.arguments = arguments_of(source, vector);
    check_arguments(source);
    check_files(kernel.arguments);
    report_.throw_if_any();
    kernel.source = std::make_shared<const KernelSource>(source);
    return draft_of(std::move(kernel), InPlace::no);
  }

 private:
  void error(Position where, const std::string& message) { report_.error(where, message); }

  static std::string reason_of(const UserKernel::Number& number) {
    if (number.measured) return "measured to be best";
    if (number.candidates.size() < 2) return "set in constants";
    std::string list;
    for (const int candidate : number.candidates) list += (list.empty() ? "" : ", ") + std::to_string(candidate);
    return "the first of " + list + "; no tuning table has measured them";
  }

  void add_constants(KernelPlan& kernel) {
    for (const auto& [name, number] : user_.constants) {
      if (kernel.has(name) || is_of_launch(name)) {
        error(number.where, in_quotes(name) + " is a member of every Config; choose another name, or set it in config");
        continue;
      }
      add_number(kernel, name, number.value, "", reason_of(number));
    }
  }

  KernelSource read(const KernelPlan& kernel) {
    std::vector<std::string> extents;
    extents.reserve(request_.problem.extents.size());
    for (const iris::NamedExtent& extent : request_.problem.extents) extents.push_back(extent.name);
    std::vector<std::string> named;
    named.reserve(user_.arguments.size());
    for (const UserArgument& argument : user_.arguments) named.push_back(argument.name);
    try {
      if (!user_.reader) throw std::runtime_error("there is nothing here to read it with");
      return user_.reader->read_kernel({.folder = user_.folder,
                                        .source = user_.source,
                                        .entry = user_.entry,
                                        .config = config_struct(kernel),
                                        .extents = extents,
                                        .named = named});
    } catch (const SourceError& problem) {
      report_.error(user_.where_source, problem.what(), problem.rendered());
    } catch (const std::runtime_error& problem) {
      report_.error(user_.where_source, "cannot read " + in_quotes(user_.source) + ": " + problem.what());
    }
    throw SpecError(report_);
  }

  void refuse_main_loops(const KernelSource& source) {
    for (const std::string& header : source.device_includes) {
      if (!header.starts_with("iris/device/main_loop")) continue;
      error(user_.where_source, user_.source + " includes <" + header +
                                    ">; the matrix units' main loops are for irisgen's own templates; take tile.hpp");
    }
    report_.throw_if_any();
  }

  /// A kernel that makes its Launch of a configuration of its own has said what the Plan would decide.
  void check_launch(KernelPlan& kernel, const KernelSource& source) {
    if (!source.launch) return;
    if (source.takes_config) {
      error(user_.where_entry, user_.entry + " is a template over Config, but makes the Launch at " +
                                   source.launch->place + " of something else; make it Launch<Config>");
      return;
    }
    const int world = request_.problem.world;
    if (source.launch->world != world) {
      error(request_.spec.where.world, "a world of " + std::to_string(world) + " ranks, but the Launch at " +
                                           source.launch->place + " is for " + std::to_string(source.launch->world) +
                                           "; make them agree");
    }
    take(kernel, "blocks", source.launch->blocks, source.launch->place);
    take(kernel, "threads", source.launch->threads, source.launch->place);
  }

  void take(KernelPlan& kernel, std::string_view name, int value, const std::string& place) {
    const auto wanted = request_.config.find(name);
    if (wanted != request_.config.end() && wanted->second.value != value) {
      error(wanted->second.where, std::string(name) + " is " + std::to_string(wanted->second.value) +
                                      " here, but the Launch at " + place + " has " + std::to_string(value) +
                                      "; remove it here or make both agree");
    }
    for (Constant& constant : kernel.constants) {
      if (constant.name != name) continue;
      constant.value = std::int64_t{value};
      constant.reason = "the Launch at " + place + " says so";
    }
  }

  /// Config's members are those that the source uses. What the description sets has a use.
  void keep_used(KernelPlan& kernel, const KernelSource& source) {
    const auto is_used = [&](std::string_view name) {
      return std::ranges::find(source.constants, name) != source.constants.end();
    };
    for (const auto& [name, number] : user_.constants) {
      if (!is_used(name)) error(number.where, user_.source + " does not use Config::" + name + "; remove it");
    }
    const auto vector = request_.config.find("vector");
    if (vector != request_.config.end() && !is_used("vector"))
      error(vector->second.where, user_.source + " does not use Config::vector; remove it");
    std::erase_if(kernel.constants,
                  [&](const Constant& constant) { return !is_of_launch(constant.name) && !is_used(constant.name); });
  }

  iris::ByteSize both_buffers(const iris::ByteSize& one) {
    constexpr std::int64_t most = std::int64_t{1} << 50;  // of a term: a few of them cannot overflow together
    bool too_large = false;
    iris::ByteSize both;
    for (const iris::ByteSize::Term& term : one.terms) {
      iris::ByteSize::Term folded{.bytes = 2 * term.bytes};
      for (const std::string& name : term.extents) {
        const iris::Extent& extent = request_.problem.extent(name);
        if (extent.dynamic) {
          folded.extents.push_back(name);
        } else {
          too_large = too_large || __builtin_mul_overflow(folded.bytes, extent.value, &folded.bytes) ||
                      std::abs(folded.bytes) > most;
        }
      }
      both.terms.push_back(std::move(folded));
    }
    if (too_large)
      error(user_.where_source, user_.source + " asks for a workspace of over 2^50 bytes; make the shape smaller");
    return both;
  }

  std::vector<Argument> arguments_of(const KernelSource& source, int vector) {
    const bool in_packs = std::ranges::find(source.constants, "vector") != source.constants.end();
    std::vector<Argument> arguments;
    for (const SourceParameter& parameter : source.parameters) {
      if (!parameter.is_buffer) continue;
      const auto told = std::ranges::find(user_.arguments, parameter.name, &UserArgument::name);
      const UserArgument* said = told == user_.arguments.end() ? nullptr : &*told;
      const auto bytes = static_cast<int>(iris::bytes_of(parameter.dtype));
      arguments.push_back({.name = parameter.name,
                           .access = access_of(parameter, said),
                           .dtype = parameter.dtype,
                           .shape = shape_of(parameter, said),
                           .symmetric = parameter.symmetric,
                           .alignment = in_packs ? vector * bytes : bytes});
    }
    const auto writes = [](const Argument& argument) { return argument.access != Access::read; };
    if (std::ranges::none_of(arguments, writes)) {
      error(user_.where_entry,
            user_.entry + " at " + source.place + " writes no buffer; take one by a pointer that is not to const");
    }
    return arguments;
  }

  /// What the description says must be of a buffer, or of a number.
  void check_arguments(const KernelSource& source) {
    std::vector<std::string_view> names;
    for (const SourceParameter& parameter : source.parameters) {
      if (parameter.is_buffer || parameter.scalar) names.push_back(parameter.name);
    }
    constexpr std::size_t room = iris::max_arguments - 1;  // beside the Context
    if (const std::size_t given = names.size() + request_.problem.dynamic_extents().size(); given > room) {
      error(user_.where_entry, user_.entry + " takes " + std::to_string(given) +
                                   " buffers, numbers and dynamic extents, and a launch has room for " +
                                   std::to_string(room) + "; let some share a buffer");
    }
    for (const UserArgument& said : user_.arguments) {
      const auto parameter = std::ranges::find(source.parameters, said.name, &SourceParameter::name);
      if (std::ranges::find(names, said.name) == names.end()) {
        error(said.where,
              user_.entry + " takes no buffer or number " + in_quotes(said.name) + suggestion(said.name, names));
      } else if (parameter->scalar) {
        check_scalar(said, *parameter);
      } else if (said.value) {
        error(said.where_value, in_quotes(said.name) + " is a buffer at " + parameter->place +
                                    ", and only a number has a value; remove it, and give the buffer's by --input");
      }
    }
  }

  /// A reference of files has one for each buffer that is written, and no others.
  void check_files(const std::vector<Argument>& arguments) {
    const UserReference& reference = user_.reference;
    if (reference.files.empty()) return;
    std::vector<std::string_view> written;
    for (const Argument& argument : arguments) {
      if (argument.access == Access::read) continue;
      written.push_back(argument.name);
      if (reference.files.contains(argument.name)) continue;
      error(reference.where, user_.entry + " writes " + in_quotes(argument.name) +
                                 ", of which the reference has no file; add it to files");
    }
    for (const auto& [name, file] : reference.files) {
      if (std::ranges::find(written, name) != written.end()) continue;
      error(file.where, user_.entry + " writes no buffer " + in_quotes(name) + suggestion(name, written));
    }
  }

  void check_scalar(const UserArgument& said, const SourceParameter& parameter) {
    if (said.shape || said.access) {
      error(said.where, in_quotes(said.name) + " is a number at " + parameter.place +
                            ", without shape and access; write {" + said.name + ": {value: 1}}, say");
    }
    const iris::ScalarType type = parameter.scalar.value();
    if (said.value && !iris::to_bytes(*said.value, type))
      error(said.where_value, in_quotes(said.name) + ": " + iris::why_not(*said.value, type));
  }

  Access access_of(const SourceParameter& parameter, const UserArgument* said) {
    const Access from_source = parameter.is_const ? Access::read : Access::write;
    if (!said || !said->access) return from_source;
    const bool agrees = parameter.is_const == (*said->access == Access::read);
    if (!agrees) {
      error(said->where_access, in_quotes(parameter.name) + " is " + std::string(describe(*said->access)) +
                                    " here, but a pointer to " + (parameter.is_const ? "const" : "what is not const") +
                                    " at " + parameter.place + "; make both agree");
    }
    return agrees ? *said->access : from_source;
  }

  std::vector<Dimension> shape_of(const SourceParameter& parameter, const UserArgument* said) {
    const Problem& problem = request_.problem;
    std::vector<Dimension> shape;
    Position where = request_.spec.where.shape;
    if (!said || !said->shape) {
      for (const iris::NamedExtent& extent : problem.extents) shape.push_back({extent.name});
    } else {
      where = said->where;
      for (const UserArgument::Dimension& dimension : *said->shape) shape.push_back(dimension_of(dimension));
    }
    check_size(parameter, shape, where);
    return shape;
  }

  Dimension dimension_of(const UserArgument::Dimension& written) {
    const auto number_of = [&](std::string_view name) -> std::optional<std::int64_t> {
      if (name == "world") return request_.problem.world;
      const auto constant = user_.constants.find(std::string(name));
      if (constant == user_.constants.end()) return std::nullopt;
      if (constant->second.candidates.size() > 1) {
        throw std::invalid_argument(in_quotes(name) +
                                    " is a list in constants, and a buffer's shape does not depend on what is measured "
                                    "to be best; give it one value");
      }
      return constant->second.value;
    };
    try {
      const Dimension dimension = parse_dimension(written.expression, request_.problem, number_of);
      const iris::Extent extent =
          dimension.extent.empty() ? iris::Extent{.value = 0} : request_.problem.extent(dimension.extent);
      if (extent.dynamic) return dimension;
      if (extent.value % dimension.divisor != 0) {
        error(written.where, dimension.extent + " = " + std::to_string(extent.value) + " is not a multiple of " +
                                 std::to_string(dimension.divisor) + ", as " + in_quotes(written.expression) +
                                 " needs; change one of them");
      } else if (static_length(request_.problem, dimension).value() < 0) {
        error(written.where,
              in_quotes(written.expression) + " is a negative number of elements; change it or the shape");
      }
      return dimension;
    } catch (const std::invalid_argument& problem) {
      error(written.where, std::string("not a dimension: ") + problem.what());
      return {.offset = 0};
    }
  }

  void check_size(const SourceParameter& parameter, const std::vector<Dimension>& shape, Position where) {
    std::int64_t elements = request_.problem.world;
    bool too_many = false;
    for (const Dimension& dimension : shape) {
      const std::int64_t length = static_length(request_.problem, dimension).value_or(1);
      too_many = too_many || __builtin_mul_overflow(elements, std::max<std::int64_t>(length, 1), &elements) ||
                 elements > max_elements;
    }
    if (!too_many) return;
    error(where, in_quotes(parameter.name) + " has more than 2^40 elements on all ranks; make the shape smaller");
  }

  const Request& request_;
  const UserKernel& user_;
  Report report_;
};

Draft plan_source(const Request& request) {
  return UserPlanning(request).plan();
}

constexpr std::array variants = {
    Variant{.name = "source",
            .summary = "a function of the user's own, in device/'s vocabulary",
            .templates = {},
            .keys = keys,
            .plan = plan_source},
};

}  // namespace

extern const Pattern user_kernel = {
    .name = user_pattern,
    .summary = "a kernel of the user's own",
    .variants = variants,
};

}  // namespace irisgen
