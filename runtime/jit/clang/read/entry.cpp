#include "runtime/jit/clang/read/entry.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/ASTMatchers/ASTMatchers.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>
#include <map>
#include <optional>

#include "runtime/jit/clang/read/comment.hpp"

namespace iris::clang_library {
namespace {

using nlohmann::json;

bool is_users(const Parsed& parsed, const clang::Decl& decl) {
  return !parsed.sources().isInSystemHeader(parsed.sources().getExpansionLoc(decl.getLocation()));
}

/// Functions of the user's files: definitions, templates as such.
std::vector<const clang::FunctionDecl*> functions_of(const Parsed& parsed) {
  using namespace clang::ast_matchers;
  std::vector<const clang::FunctionDecl*> functions;
  const auto matcher = functionDecl(isDefinition(), unless(isExpansionInSystemHeader()), unless(cxxMethodDecl()),
                                    unless(isTemplateInstantiation()))
                           .bind("function");
  for (const auto& nodes : match(matcher, parsed.ast())) {
    functions.push_back(nodes.getNodeAs<clang::FunctionDecl>("function"));
  }
  return functions;
}

/// As it is called from outside: what has no name is left out.
std::string name_of(const clang::FunctionDecl& function) {
  constexpr std::string_view unnamed = "(anonymous namespace)::";
  std::string name = function.getQualifiedNameAsString();
  for (std::size_t at = name.find(unnamed); at != std::string::npos; at = name.find(unnamed)) {
    name.erase(at, unnamed.size());
  }
  return name;
}

/// How a buffer's elements are called in descriptions.
std::optional<std::string> dtype_of(clang::QualType element) {
  static const std::map<std::string, std::string> names = {{"float", "f32"},
                                                           {"double", "f64"},
                                                           {"int", "i32"},
                                                           {"iris::device::Float16", "f16"},
                                                           {"iris::device::BFloat16", "bf16"},
                                                           {"iris::device::Float8E4M3", "e4m3"}};
  clang::PrintingPolicy policy{clang::LangOptions{}};
  policy.SuppressTagKeyword = true;
  policy.FullyQualifiedName = true;
  const auto found = names.find(element.getCanonicalType().getUnqualifiedType().getAsString(policy));
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

bool is_context(clang::QualType type) {
  const auto* record = type.getNonReferenceType()->getAsCXXRecordDecl();
  return record != nullptr && record->getQualifiedNameAsString() == "iris::device::Context";
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// `(m, n)`
std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return "(" + list + ")";
}

/// What the vocabulary calls the type of a number by value; empty where it has none.
std::string scalar_type_of(clang::QualType type) {
  static const std::map<std::string, std::string> names = {{"float", "f32"},        {"double", "f64"},
                                                           {"int", "i32"},          {"long long", "i64"},
                                                           {"unsigned int", "u32"}, {"unsigned long long", "u64"},
                                                           {"bool", "bool"},        {"_Bool", "bool"}};
  const auto found = names.find(type.getNonReferenceType().getCanonicalType().getUnqualifiedType().getAsString());
  return found == names.end() ? "" : found->second;
}

void check_extent(const clang::ParmVarDecl& parameter, Problems& problems) {
  if (scalar_type_of(parameter.getType()) == "i64") return;
  problems.add(parameter.getLocation(), "extents are i64, and '" + parameter.getNameAsString() + "' is '" +
                                            parameter.getType().getNonReferenceType().getAsString() + "'");
}

/// A parameter that is neither a buffer nor an extent. One of an extent's type has to be said to be none: else its name
/// is a mistake, more likely than not.
void check_scalar(const clang::ParmVarDecl& parameter, const DescribedNames& names, Problems& problems) {
  const std::string name = parameter.getNameAsString();
  const std::string type = scalar_type_of(parameter.getType());
  if (type.empty()) {
    problems.add(parameter.getLocation(), "'" + name + "' is '" +
                                              parameter.getType().getNonReferenceType().getAsString() +
                                              "'; what is passed are buffers, extents, and numbers by value, which "
                                              "are f32, f64, i32, i64, u32, u64 or bool");
  } else if (type == "i64" && !contains(names.arguments, name)) {
    problems.add(parameter.getLocation(), "'" + name + "' is no extent of the shape " + list_of(names.extents) +
                                              "; add it there, or, where it is another number, arguments: {" + name +
                                              ": {value: 1}} to the description");
  }
}

class Description {
 public:
  Description(const Parsed& parsed, const clang::FunctionDecl& entry, const DescribedNames& names, Problems& problems)
      : entry_(entry), names_(names), problems_(problems), comment_(comment_of(parsed, entry)) {}

  void write(json& answer) {
    check_signature();
    answer["comment"] = comment_.text;
    answer["place"] = problems_.place_text(entry_.getLocation());
    answer["parameters"] = json::array();
    for (unsigned i = 1; i < entry_.getNumParams(); ++i)
      answer["parameters"].push_back(parameter(*entry_.getParamDecl(i)));
  }

 private:
  void check_signature() {
    const std::string name = "'" + entry_.getNameAsString() + "'";
    if (!entry_.getReturnType()->isVoidType()) {
      problems_.add(entry_.getLocation(), name + " returns '" + entry_.getReturnType().getAsString() +
                                              "', and nobody would take it; make it void");
    }
    if (entry_.isVariadic()) problems_.add(entry_.getLocation(), name + " takes any number of arguments; name each");
    if (entry_.getNumParams() == 0 || !is_context(entry_.getParamDecl(0)->getType())) {
      problems_.add(entry_.getLocation(), "the first parameter of " + name + " must be const iris::device::Context&");
    }
  }

  json parameter(const clang::ParmVarDecl& parameter) {
    const std::string name = parameter.getNameAsString();
    const clang::SourceLocation where = parameter.getLocation();
    const clang::QualType type = parameter.getType().getNonReferenceType();
    json result = {{"name", name},
                   {"is_buffer", type->isPointerType()},
                   {"scalar", ""},
                   {"dtype", "i32"},
                   {"is_const", false},
                   {"symmetric", is_symmetric(parameter)},
                   {"comment", comment_.parameters[name]},
                   {"place", problems_.place_text(where)}};
    if (name.empty()) {
      problems_.add(where, "a parameter without a name; launchers and descriptions call it by its name");
    } else if (type->isPointerType()) {
      if (contains(names_.extents, name))
        problems_.add(where, "'" + name + "' is an extent of the shape, too; rename the buffer");
      check_name(parameter);
      add_buffer(parameter, type->getPointeeType(), result);
    } else if (contains(names_.extents, name)) {
      check_extent(parameter, problems_);
    } else {
      check_name(parameter);
      check_scalar(parameter, names_, problems_);
      result["scalar"] = scalar_type_of(type);
    }
    return result;
  }

  void check_name(const clang::ParmVarDecl& parameter) {
    const std::string name = parameter.getNameAsString();
    if (name == "context" || name == "Config")
      problems_.add(parameter.getLocation(), "'" + name + "' means something else in the emitted entry; rename it");
  }

  void add_buffer(const clang::ParmVarDecl& parameter, clang::QualType element, json& result) {
    result["is_const"] = element.isConstQualified();
    const auto dtype = dtype_of(element);
    if (dtype) {
      result["dtype"] = *dtype;
    } else {
      problems_.add(parameter.getLocation(), "'" + parameter.getNameAsString() + "' points to '" +
                                                 element.getUnqualifiedType().getAsString() +
                                                 "'; buffers are of f64, f32, f16, bf16, e4m3 or i32");
    }
  }

  const clang::FunctionDecl& entry_;
  const DescribedNames& names_;
  Problems& problems_;
  Comment comment_;
};

/// `double`, or `const double`, behind two pointers; nothing for another type.
std::optional<bool> points_to_const_double(clang::QualType type) {
  if (!type->isPointerType() || !type->getPointeeType()->isPointerType()) return std::nullopt;
  const clang::QualType element = type->getPointeeType()->getPointeeType();
  if (!type->getPointeeType().isConstQualified() || !element->isSpecificBuiltinType(clang::BuiltinType::Double))
    return std::nullopt;
  return element.isConstQualified();
}

void check_buffer_of_reference(const clang::ParmVarDecl& parameter, const json& buffers, Problems& problems) {
  const std::string name = parameter.getNameAsString();
  const auto buffer = std::ranges::find_if(buffers, [&](const json& one) { return one.at("name") == name; });
  if (buffer == buffers.end()) {
    std::string list;
    for (const json& one : buffers) list += (list.empty() ? "" : ", ") + one.at("name").get<std::string>();
    problems.add(parameter.getLocation(), "the kernel has no buffer '" + name + "'; it has " + list);
    return;
  }
  // What is read comes as a copy, which a reference may work in.
  const auto found = points_to_const_double(parameter.getType());
  if (found && (!*found || buffer->at("is_const").get<bool>())) return;
  problems.add(parameter.getLocation(), "'" + name +
                                            "' must be double* const*, the values of each rank by its number, "
                                            "and is '" +
                                            parameter.getType().getAsString() + "'");
}

/// The very type, or float64, in which references calculate.
void check_scalar_of_reference(const clang::ParmVarDecl& parameter, const std::vector<std::string>& extents,
                               const json& scalars, Problems& problems) {
  const std::string name = parameter.getNameAsString();
  const auto scalar = scalars.find(name);
  if (scalar == scalars.end()) {
    std::vector<std::string> names = extents;
    for (const auto& [one, type] : scalars.items()) names.push_back(one);
    problems.add(parameter.getLocation(),
                 "the kernel has no extent and no number '" + name + "'; it has " + list_of(names));
    return;
  }
  const std::string type = scalar_type_of(parameter.getType());
  const auto wanted = scalar->get<std::string>();
  if (type == wanted || type == "f64") return;
  problems.add(parameter.getLocation(), "'" + name + "' is " + wanted + " in the kernel; take that, or f64, not '" +
                                            (type.empty() ? parameter.getType().getAsString() : type) + "'");
}

/// A parameter of a function of values.
void check_value(const clang::ParmVarDecl& parameter, const std::string& function, const std::string& type,
                 Problems& problems) {
  const clang::QualType written = parameter.getType();
  const bool can_change = written->isReferenceType() && !written->getPointeeType().isConstQualified();
  const auto dtype = dtype_of(written.getNonReferenceType());
  if (can_change || (dtype != "f32" && dtype != "f64" && dtype != "i32")) {
    problems.add(parameter.getLocation(), "values come as f32, f64 or i32, and this is '" + written.getAsString() +
                                              "'; take " + type + " by value");
  } else if (*dtype != type) {
    problems.add(parameter.getLocation(), "values are " + type + " here, and this is " + *dtype + "; take " + type +
                                              ", or make " + function + " a template over the type of its values");
  }
}

}  // namespace

bool is_symmetric(const clang::ParmVarDecl& parameter) {
  return std::ranges::any_of(parameter.specific_attrs<clang::AnnotateAttr>(),
                             [](const clang::AnnotateAttr* one) { return one->getAnnotation() == "iris_symmetric"; });
}

const clang::NamedDecl* find_entry(const Parsed& parsed, const std::string& name, const std::string& over,
                                   Problems& problems) {
  std::vector<const clang::FunctionDecl*> found;
  std::string others;
  for (const clang::FunctionDecl* function : functions_of(parsed)) {
    const std::string qualified = name_of(*function);
    if (qualified == name) {
      found.push_back(function);
    } else if (others.size() < 200 && is_users(parsed, *function)) {
      others += (others.empty() ? "" : ", ") + qualified;
    }
  }
  const clang::SourceLocation start = parsed.sources().getLocForStartOfFile(parsed.sources().getMainFileID());
  if (found.empty()) {
    problems.add(start, "there is no function '" + name + "' here" +
                            (others.empty() ? ", nor any other" : "; there are: " + others));
    return nullptr;
  }
  if (found.size() > 1) {
    problems.add(found[1]->getLocation(), "several functions are called '" + name + "', the first at " +
                                              problems.place_text(found[0]->getLocation()) + "; rename one");
    return nullptr;
  }
  const auto* as_template = found[0]->getDescribedFunctionTemplate();
  if (as_template == nullptr) return found[0];
  const clang::TemplateParameterList& parameters = *as_template->getTemplateParameters();
  const bool over_config = parameters.size() == 1 && llvm::isa<clang::TemplateTypeParmDecl>(parameters.getParam(0)) &&
                           !parameters.getParam(0)->isParameterPack();
  if (!over_config) {
    problems.add(as_template->getLocation(),
                 "'" + name + "' must be a template over one type, " + over + ", or no template");
    return nullptr;
  }
  return as_template;
}

const clang::FunctionDecl* instantiated(const clang::NamedDecl& entry, const std::string& type) {
  const auto* as_template = llvm::dyn_cast<clang::FunctionTemplateDecl>(&entry);
  if (as_template == nullptr) return llvm::cast<clang::FunctionDecl>(&entry)->getDefinition();
  // The file may instantiate it, too, with a type of its own.
  for (const clang::FunctionDecl* made : as_template->specializations()) {
    const clang::QualType argument = made->getTemplateSpecializationArgs()->get(0).getAsType();
    const auto* record = argument->getAsCXXRecordDecl();
    const bool is_it = record != nullptr ? record->getQualifiedNameAsString() == type : dtype_of(argument) == type;
    if (!is_it) continue;
    if (const clang::FunctionDecl* definition = made->getDefinition()) return definition;
  }
  return nullptr;
}

void describe_reference(const clang::FunctionDecl& function, const std::vector<std::string>& extents,
                        const json& kernel, json& answer, Problems& problems) {
  answer["parameters"] = json::array();
  for (const clang::ParmVarDecl* parameter : function.parameters()) {
    const bool is_buffer = parameter->getType()->isPointerType();
    if (is_buffer) {
      check_buffer_of_reference(*parameter, kernel.at("buffers"), problems);
    } else if (contains(extents, parameter->getNameAsString())) {
      check_extent(*parameter, problems);
    } else {
      check_scalar_of_reference(*parameter, extents, kernel.at("scalars"), problems);
    }
    answer["parameters"].push_back({{"name", parameter->getNameAsString()}, {"is_buffer", is_buffer}});
  }
}

void describe_function(const Parsed& parsed, const clang::FunctionDecl& function, const std::string& type, json& answer,
                       Problems& problems) {
  const std::string name = "'" + function.getNameAsString() + "'";
  const auto given = dtype_of(function.getReturnType().getNonReferenceType());
  if (given != type) {
    problems.add(function.getLocation(), name + " returns '" + function.getReturnType().getAsString() +
                                             "' where values are " + type + "; return that, or make it a template " +
                                             "over the type of its values");
  }
  if (function.isVariadic()) problems.add(function.getLocation(), name + " takes any number of arguments; name each");
  Comment comment = comment_of(parsed, function);
  answer["comment"] = comment.text;
  answer["place"] = problems.place_text(function.getLocation());
  answer["parameters"] = json::array();
  for (const clang::ParmVarDecl* parameter : function.parameters()) {
    check_value(*parameter, name, type, problems);
    if (parameter->getName().empty() && parameter->getFunctionScopeIndex() > 0)
      problems.add(parameter->getLocation(), "a parameter without a name; a buffer is called by it");
    answer["parameters"].push_back({{"name", parameter->getNameAsString()},
                                    {"comment", comment.parameters[parameter->getNameAsString()]},
                                    {"place", problems.place_text(parameter->getLocation())}});
  }
}

void describe_entry(const Parsed& parsed, const clang::FunctionDecl& entry, const DescribedNames& names, json& answer,
                    Problems& problems) {
  Description(parsed, entry, names, problems).write(answer);
}

}  // namespace iris::clang_library
