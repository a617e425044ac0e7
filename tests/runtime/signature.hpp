#pragma once

#include <cstddef>
#include <type_traits>

/// Whether a function that we declare is called like the one that a vendor's header declares: as many parameters, and
/// at each place a pointer for a pointer, or an integer (or enumeration) of the same size for an integer.
namespace iris::test {

template <class Ours, class Theirs>
inline constexpr bool same_slot =
    sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
    std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;

template <class Ours, class Theirs>
struct CallCompatible : std::false_type {};

template <class OurResult, class... Ours, class TheirResult, class... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
struct CallCompatible<OurResult (*)(Ours...), TheirResult (*)(Theirs...)>
    : std::bool_constant<same_slot<OurResult, TheirResult> && (same_slot<Ours, Theirs> && ...)> {};

template <class Ours, class Theirs>
inline constexpr bool call_compatible = CallCompatible<Ours, Theirs>::value;

static_assert(call_compatible<int (*)(void**, std::size_t), unsigned (*)(int**, unsigned long)>);
static_assert(!call_compatible<int (*)(void*, int), int (*)(int, void*)>);
static_assert(!call_compatible<int (*)(int), int (*)(long long)>);
static_assert(!call_compatible<int (*)(int), int (*)(int, int)>);

}  // namespace iris::test
