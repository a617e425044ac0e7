#include "runtime/jit/clang/import/parameters.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "runtime/jit/clang/import/accesses.hpp"

namespace iris::clang_library::importing {
namespace {

using Kind = Parameter::Kind;

bool is_one_of(const std::string& name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, std::string_view(name)) != names.end();
}

bool speaks_of(const std::string& name, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

/// In small letters, without what people put before and behind names.
std::string plain(llvm::StringRef name) {
  return name.trim('_').lower();
}

bool is_flag_name(const std::string& name) {
  return speaks_of(name, {"flag", "signal", "barrier", "sem", "ready", "sync", "lock", "arrive", "done"});
}

}  // namespace

bool is_world(const std::string& name) {
  return is_one_of(plain(name), {"world", "world_size", "worldsize", "nranks", "n_ranks", "num_ranks", "npes", "n_pes",
                                 "num_pes", "ngpus", "n_gpus", "num_gpus", "nprocs", "ranks"});
}

std::string element_of(clang::QualType type) {
  type = type.getCanonicalType().getUnqualifiedType();
  if (type->isDependentType() || type->isVoidType()) return "Element";
  if (type->isSpecificBuiltinType(clang::BuiltinType::Float)) return "f32";
  if (type->isSpecificBuiltinType(clang::BuiltinType::Double)) return "f64";
  if (type->isSpecificBuiltinType(clang::BuiltinType::Int) || type->isSpecificBuiltinType(clang::BuiltinType::UInt))
    return "i32";
  const auto* record = type->getAsCXXRecordDecl();
  if (record == nullptr) return "";
  const std::string name = record->getNameAsString();
  if (is_one_of(name, {"__half", "__half2", "Float16"})) return "f16";
  if (is_one_of(name, {"__nv_bfloat16", "__nv_bfloat162", "__hip_bfloat16", "__hip_bfloat162", "BFloat16"}))
    return "bf16";
  if (is_one_of(name, {"__nv_fp8_e4m3", "Float8E4M3"})) return "e4m3";
  if (is_one_of(name, {"float1", "float2", "float3", "float4"})) return "f32";
  if (is_one_of(name, {"double2"})) return "f64";
  if (is_one_of(name, {"int2", "int4", "uint2", "uint4"})) return "i32";
  return "";
}

namespace {

/// Whether a struct says more than where memory is: what it and its members are called tells of flags.
bool is_flag_record(const clang::CXXRecordDecl& record) {
  if (is_flag_name(plain(record.getName()))) return true;
  const clang::CXXRecordDecl* definition = record.getDefinition();
  return definition != nullptr && std::ranges::any_of(definition->fields(), [](const clang::FieldDecl* field) {
           return is_flag_name(plain(field->getName()));
         });
}

/// What the pointers of a struct's members point to, or its arrays of them; null where it has none.
clang::QualType pointee_in(const clang::CXXRecordDecl& record) {
  const clang::CXXRecordDecl* definition = record.getDefinition();
  if (definition == nullptr) return {};
  for (const clang::FieldDecl* field : definition->fields()) {
    clang::QualType type = field->getType();
    while (const clang::ArrayType* array = type->getAsArrayTypeUnsafe()) type = array->getElementType();
    if (type->isPointerType()) return type->getPointeeType();
  }
  return {};
}

Kind kind_of_number(const std::string& name, clang::QualType type) {
  if (!type->isIntegerType() || type->isBooleanType()) return Kind::scalar;
  if (is_one_of(name, {"rank", "my_rank", "myrank", "rank_id", "pe", "my_pe", "mype", "me", "device_id", "gpu_id"}))
    return Kind::rank;
  if (is_world(name)) return Kind::world;
  if (speaks_of(name, {"epoch", "phase", "generation", "seq"}) || is_flag_name(name)) return Kind::counter;
  return Kind::extent;
}

void classify_pointer(Parameter& parameter, clang::QualType pointee) {
  const std::string name = plain(parameter.name);
  const auto* record = pointee->getAsCXXRecordDecl();
  const bool is_vector = !element_of(pointee).empty();
  if (pointee->isPointerType() || pointee->isArrayType()) {
    const clang::QualType inner =
        pointee->isPointerType() ? pointee->getPointeeType() : clang::QualType(pointee->getBaseElementTypeUnsafe(), 0);
    const bool flags = inner.isVolatileQualified() || (inner->isIntegerType() && is_flag_name(name)) ||
                       (inner->getAsCXXRecordDecl() != nullptr && element_of(inner).empty() &&
                        is_flag_record(*inner->getAsCXXRecordDecl()));
    parameter.kind = flags ? Kind::flags : Kind::peers;
    parameter.element = element_of(inner);
  } else if (record != nullptr && !is_vector) {
    const clang::QualType inner = pointee_in(*record);
    parameter.kind = is_flag_record(*record) ? Kind::flags : inner.isNull() ? Kind::buffer : Kind::peers;
    parameter.element = inner.isNull() ? "" : element_of(inner);
  } else {
    const bool flags =
        pointee.isVolatileQualified() || (is_flag_name(name) && pointee->isIntegerType() && !pointee->isCharType());
    parameter.kind = flags ? Kind::flags : Kind::buffer;
    parameter.element = element_of(pointee);
  }
}

Parameter parameter_of(const clang::ParmVarDecl& decl) {
  Parameter parameter = {.decl = &decl, .name = decl.getNameAsString()};
  const clang::QualType type = decl.getOriginalType().getNonReferenceType();
  if (type->isPointerType()) {
    classify_pointer(parameter, type->getPointeeType());
  } else if (const clang::ArrayType* array = type->getAsArrayTypeUnsafe()) {
    classify_pointer(parameter, array->getElementType());
  } else if (const auto* record = type->getAsCXXRecordDecl(); record != nullptr && element_of(type).empty()) {
    const clang::QualType inner = pointee_in(*record);
    if (is_flag_record(*record)) {
      parameter.kind = Kind::flags;
    } else if (!inner.isNull()) {
      parameter.kind = Kind::peers;
      parameter.element = element_of(inner);
    }
  } else if (type->isArithmeticType() || type->isEnumeralType()) {
    parameter.kind = kind_of_number(plain(parameter.name), type);
  } else {
    parameter.kind = type->isDependentType() ? Kind::scalar : Kind::other;
  }
  return parameter;
}

bool points_to_const(const clang::ParmVarDecl& decl) {
  clang::QualType type = decl.getOriginalType().getNonReferenceType();
  while (type->isPointerType() || type->isArrayType()) {
    type = type->isPointerType() ? type->getPointeeType() : type->getAsArrayTypeUnsafe()->getElementType();
  }
  const auto* record = type->getAsCXXRecordDecl();
  const clang::QualType inner = record == nullptr ? clang::QualType() : pointee_in(*record);
  return inner.isNull() ? type.isConstQualified() : inner.isConstQualified();
}

}  // namespace

std::string Parameter::access() const {
  if (points_to_const(*decl) || (reads && !writes && !updates)) return "read";
  return updates || (reads && kind == Kind::buffer) ? "update" : "write";
}

std::string Parameter::declaration() const {
  if (kind == Kind::extent) return "i64 " + name;
  if (kind == Kind::scalar) return scalar_type_of(decl->getType()) + " " + name;
  if (!is_memory()) return "";
  const std::string type = element.empty() || element == "Element" ? "typename Config::Element" : element;
  return std::string(kind == Kind::peers ? "IRIS_SYMMETRIC " : "") + (access() == "read" ? "const " : "") + type +
         "* " + name;
}

std::string scalar_type_of(clang::QualType type) {
  type = type.getNonReferenceType();
  if (type->isBooleanType()) return "bool";
  if (type->isSpecificBuiltinType(clang::BuiltinType::Int)) return "i32";
  if (type->isSpecificBuiltinType(clang::BuiltinType::UInt)) return "u32";
  if (type->isSpecificBuiltinType(clang::BuiltinType::ULongLong)) return "u64";
  return type->isSpecificBuiltinType(clang::BuiltinType::Double) ? "f64" : "f32";
}

std::vector<Parameter> parameters_of(const clang::FunctionDecl& kernel,
                                     const std::vector<const clang::FunctionDecl*>& reached) {
  const std::map<const clang::ParmVarDecl*, Access> accesses = accesses_of(kernel, reached);
  std::vector<Parameter> parameters;
  for (const clang::ParmVarDecl* decl : kernel.parameters()) {
    Parameter parameter = parameter_of(*decl);
    if (const auto found = accesses.find(decl); found != accesses.end()) {
      parameter.reads = found->second.reads;
      parameter.writes = found->second.writes;
      parameter.updates = found->second.updates;
    }
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

}  // namespace iris::clang_library::importing
