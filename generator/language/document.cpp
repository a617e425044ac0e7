#include "generator/language/document.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "generator/language/scalar.hpp"
#include "generator/language/source_text.hpp"
#include "generator/language/unicode.hpp"

namespace irisgen {
namespace {

// yaml-cpp's messages, by how they start, as sentences with a remedy.
std::string sentence(const std::string& message) {
  using Row = std::pair<std::string_view, std::string_view>;
  constexpr std::array rows = {
      Row{"the referenced anchor", "an alias of an anchor that does not stand before it; write the anchor first"},
      Row{"illegal tab", "a tab in the indentation; indent with spaces"},
      Row{"end of map flow", "a '{' is not closed, or misses a ',' or a closing quote; add it"},
      Row{"end of sequence flow", "a '[' is not closed, or misses a ',' or a closing quote; add it"},
      Row{"end of map", "this line does not fit the map above; check its indentation and that it is 'key: value'"},
      Row{"end of sequence", "this line does not fit the list above; check its indentation and the '-'"},
      Row{"illegal EOF in scalar", "a quote is not closed; add the closing quote"},
      Row{"illegal document indicator", "'---' or '...' inside quotes; close the quote before it"},
      Row{"illegal flow end", "a bracket that closes nothing; remove it"},
      Row{"illegal block entry", "a '-' where no list can start; put the list on a line of its own"},
      Row{"illegal map key", "a key where none can stand; check the indentation"},
      Row{"illegal map value", "a ':' that belongs to no key; check the indentation, quote the text or start a line"},
      Row{"invalid unicode", "an escape of half a surrogate pair or of no character; write the character itself"},
      Row{"bad character found while scanning hex", "an escape with digits that are not hexadecimal; complete it"},
      Row{"unknown escape character", "an escape that YAML does not have; write \\\\ for a backslash"},
      Row{"unknown token", "a character that can start no value; quote the text"},
  };
  for (const auto& [start, text] : rows) {
    if (message.starts_with(start)) return std::string(text);
  }
  return "not valid YAML: " + message + "; check the syntax here";
}

// Thrown through yaml-cpp to end the parse after an error that leaves no tree.
struct Stop {};

// What an anchor stands for.
struct Anchored {
  Value value;
  std::size_t values = 1;  // in all
  std::size_t depth = 0;   // levels of lists and maps
};

// A map or list whose end has not come yet.
struct Frame {
  Value value;
  std::size_t offset = 0;  // in the text that yaml-cpp reads
  // Of a map: the member whose value is to come. One that is an error of its own is parsed and dropped.
  Member member;
  bool has_key = false;
  bool drop = false;
  bool is_merge = false;  // that member is the merge key
  bool merges = false;    // it has had one
  std::unordered_set<std::string> keys;
  std::vector<Value> merged;  // of the merge key, maps in the order of precedence
  bool is_key = false;        // this whole value stands where a key should
  YAML::anchor_t anchor = 0;
};

// Of the whole tree below, the value itself included. Depth is bounded by max_depth.
void measure(const Value& value, std::size_t level, Anchored& anchored) {
  ++anchored.values;
  if (const auto* array = value.as<Array>()) {
    anchored.depth = std::max(anchored.depth, level + 1);
    for (const Value& item : *array) measure(item, level + 1, anchored);
  }
  if (const auto* object = value.as<Object>()) {
    anchored.depth = std::max(anchored.depth, level + 1);
    for (const Member& member : *object) measure(member.value, level + 1, anchored);
  }
}

// Builds the tree from yaml-cpp's events. The event interface gives a mark for everything, aliases included, and leaves
// duplicate keys to us; yaml-cpp's own tree accepts them silently and reports an alias at its anchor.
class Builder final : public YAML::EventHandler {
 public:
  Builder(const PairsJoined& source, const Places& places, Report& report)
      : source_(source), places_(places), report_(report) {}

  // Nothing if the text has no document.
  std::optional<Value> take() {
    for (Diagnostic& error : late_) report_.error(error.where, std::move(error.message));
    return std::move(root_);
  }

  void syntax_error(const YAML::Exception& problem) {
    const bool at_end = offset(problem.mark) >= source_.text().size();
    const std::string_view message = problem.msg;
    const char bracket = message.starts_with("end of map flow")        ? '{'
                         : message.starts_with("end of sequence flow") ? '['
                                                                       : 0;
    // At the end of the text the bracket that was left open says more than the end.
    const auto open = std::find_if(frames_.rbegin(), frames_.rend(), [&](const Frame& frame) {
      return frame.offset < source_.text().size() && source_.text()[frame.offset] == bracket;
    });
    const bool show_open = at_end && open != frames_.rend();
    report_.error(show_open ? open->value.where : place(problem.mark),
                  sentence(is_indented_by_tab(problem.mark) ? "illegal tab" : problem.msg));
  }

  // yaml-cpp reports some tabs by what they keep from being understood.
  bool is_indented_by_tab(const YAML::Mark& mark) const {
    const std::string_view before = std::string_view(source_.text()).substr(0, offset(mark));
    const std::string_view indentation = before.substr(before.find_last_of('\n') + 1);
    return indentation.find('\t') != std::string_view::npos &&
           indentation.find_first_not_of(" \t") == std::string_view::npos;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    const bool marked = std::string_view(source_.text()).substr(offset(mark)).starts_with("---");
    report_.error(place(mark), marked ? "a second document; a specification is one document: put all kernels under "
                                        "one 'kernels'"
                                      : "text after the end of the specification; remove it, or indent it to where "
                                        "it belongs");
    throw Stop();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto rest = std::string_view(source_.text()).substr(offset(mark));
    constexpr std::array<std::string_view, 4> nulls = {"~", "null", "Null", "NULL"};
    const bool written = std::ranges::any_of(nulls, [&](std::string_view word) { return rest.starts_with(word); });
    Position where = place(mark);
    if (awaits_key()) return drop_key(where, "a key is missing before ':'; write one");
    // A null that nobody wrote has the mark of whatever comes next: show the key that lacks a value instead.
    if (!written && !frames_.empty() && frames_.back().has_key) where = frames_.back().member.where;
    remember(anchor, {Null{}, where});
    add({Null{}, where});
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      report_.error(place(mark), "an alias inside of what it stands for; write the value out");
      throw Stop();
    }
    const Anchored& anchored = found->second;
    count_copies(anchored.values, place(mark));
    if (frames_.size() + anchored.depth > max_depth) {
      report_.error(place(mark), "nested deeper than " + std::to_string(max_depth) + " levels; flatten it");
      throw Stop();
    }
    if (!awaits_key()) return add(anchored.value);
    const auto* text = anchored.value.as<std::string>();
    if (text) return start_member(place(mark), *text);
    drop_key(place(mark), "a key must be a word, not an alias of something else; write a word");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (!quote_is_closed(offset(mark))) {
      report_.error(place(mark), "a quote is not closed; add the closing quote");
      throw Stop();
    }
    const bool sound = !refuse_tag(mark, tag);
    const bool plain = tag == "?";
    if (awaits_key()) {
      remember(anchor, {text, place(mark)});
      return plain && text == "<<" ? start_merge(place(mark)) : start_member(place(mark), text);
    }
    Scalar scalar = plain ? resolve_plain(text) : Scalar{text, ""};
    if (!sound) scalar = {Invalid{}, ""};
    if (!scalar.error.empty()) report_.error(place(mark), scalar.error);
    const Value value = {std::move(scalar.content), place(mark)};
    remember(anchor, value);
    add(value);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(mark, tag, anchor, Array());
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    start(mark, tag, anchor, Object());
  }
  void OnSequenceEnd() override { end(); }
  void OnMapEnd() override { end(); }

 private:
  Position place(const YAML::Mark& mark) const { return places_.at(source_.original(offset(mark))); }
  static std::size_t offset(const YAML::Mark& mark) { return static_cast<std::size_t>(std::max(0, mark.pos)); }

  bool awaits_key() const { return !frames_.empty() && frames_.back().value.as<Object>() && !frames_.back().has_key; }

  // yaml-cpp numbers anchors, 0 being none; a name that is given again is another anchor.
  void remember(YAML::anchor_t anchor, const Value& value) {
    if (anchor == 0) return;
    Anchored anchored = {value, 0, 0};
    measure(value, 0, anchored);
    count_copies(anchored.values, value.where);
    anchors_[anchor] = std::move(anchored);
  }

  // Ten aliases of ten aliases of … are few bytes of text and more memory than there is.
  void count_copies(std::size_t values, Position where) {
    copied_ += values;
    if (copied_ <= max_copied_values) return;
    report_.error(where, "anchors and aliases make more than " + std::to_string(max_copied_values) +
                             " values of this text; use fewer of them");
    throw Stop();
  }

  // yaml-cpp gives "?" for a plain node and "!" for a quoted scalar, but also for an explicit "!": look at the text.
  bool refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    const auto rest = std::string_view(source_.text()).substr(offset(mark));
    const bool none = tag.empty() || tag == "?" || (tag == "!" && !rest.starts_with('!'));
    if (none) return false;
    report_.error(place(mark), "tags are not part of the language; remove it");
    return true;
  }

  // yaml-cpp 0.7 takes the end of the text for a closing quote.
  bool quote_is_closed(std::size_t start) const {
    const std::string& text = source_.text();
    const char quote = start < text.size() ? text[start] : 0;
    if (quote != '"' && quote != '\'') return true;
    for (std::size_t i = start + 1; i < text.size(); ++i) {
      const bool escape = quote == '"' && text[i] == '\\';
      const bool doubled = quote == '\'' && text.compare(i, 2, "''") == 0;
      if (escape || doubled) {
        ++i;
      } else if (text[i] == quote) {
        return true;
      }
    }
    return false;
  }

  void start(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, decltype(Value::content) content) {
    // Before yaml-cpp recurses: its own limit is deeper than the stack of a small thread may be.
    if (frames_.size() == max_depth) {
      report_.error(place(mark), "nested deeper than " + std::to_string(max_depth) + " levels; flatten it");
      throw Stop();
    }
    const bool is_key = awaits_key();
    // yaml-cpp takes a bracket that is never closed for a key: tell only once the syntax has turned out right.
    if (is_key) late_.push_back({place(mark), "a key must be a word, not a list or a map; write a word"});
    refuse_tag(mark, tag);
    Frame frame;
    frame.anchor = anchor;
    frame.value = {std::move(content), place(mark)};
    frame.offset = offset(mark);
    frame.is_key = is_key;
    frames_.push_back(std::move(frame));
  }

  void end() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    for (const Value& map : frame.merged) merge(map, frame);
    remember(frame.anchor, frame.value);
    if (!frame.is_key) return add(std::move(frame.value));
    set_key({"", frame.value.where, {}}, true);
  }

  void start_member(Position where, const std::string& key) {
    Frame& frame = frames_.back();
    if (!frame.keys.insert(key).second) {
      return drop_key(where, "duplicate key " + in_quotes(key) + "; it stands in this map already: remove one of them");
    }
    set_key({key, where, {}}, false);
  }

  void start_merge(Position where) {
    Frame& frame = frames_.back();
    if (frame.merges) return drop_key(where, "duplicate key '<<'; merge a list of maps: '<<: [*a, *b]'");
    frame.merges = true;
    set_key({"<<", where, {}}, false);
    frame.is_merge = true;
  }

  void set_key(Member member, bool drop) {
    Frame& frame = frames_.back();
    frame.member = std::move(member);
    frame.has_key = true;
    frame.drop = drop;
    frame.is_merge = false;
  }

  // The value of a merge key: a map, or maps of which the first has precedence.
  void take_merged(Value value, Frame& frame) {
    Array maps;
    if (auto* list = value.as<Array>()) {
      maps = std::move(*list);
    } else {
      maps.push_back(std::move(value));
    }
    for (Value& map : maps) {
      if (map.invalid()) continue;
      if (map.as<Object>()) {
        frame.merged.push_back(std::move(map));
      } else {
        report_.error(frame.member.where, "'<<' takes a map or a list of maps, as in '<<: *common'");
      }
    }
  }

  static void merge(const Value& map, Frame& frame) {
    auto& object = *frame.value.as<Object>();
    for (const Member& member : *map.as<Object>()) {
      if (frame.keys.insert(member.key).second) object.push_back(member);
    }
  }

  void drop_key(Position where, const std::string& message) {
    report_.error(where, message);
    set_key({"", where, {}}, true);
  }

  void add(Value value) {
    if (frames_.empty()) {
      root_ = std::move(value);
      return;
    }
    Frame& frame = frames_.back();
    if (auto* array = frame.value.as<Array>()) {
      array->push_back(std::move(value));
    } else {
      if (frame.is_merge) {
        take_merged(std::move(value), frame);
      } else if (!frame.drop) {
        frame.member.value = std::move(value);
        frame.value.as<Object>()->push_back(std::move(frame.member));
      }
      frame.has_key = false;
    }
  }

  const PairsJoined& source_;
  const Places& places_;
  Report& report_;
  std::vector<Frame> frames_;
  std::unordered_map<YAML::anchor_t, Anchored> anchors_;
  std::size_t copied_ = 0;  // values that anchors keep and aliases make
  std::optional<Value> root_;
  std::vector<Diagnostic> late_;
  int documents_ = 0;
};

// For a Value and a const Value alike.
auto* find_member(auto& value, std::string_view key) {
  auto* object = value.template as<Object>();
  const auto member = object ? std::ranges::find(*object, key, &Member::key) : decltype(object->begin())();
  return object && member != object->end() ? &member->value : nullptr;
}

}  // namespace

const std::string* text_of(const Value* value) {
  return value ? value->as<std::string>() : nullptr;
}

const Value* Value::find(std::string_view key) const {
  return find_member(*this, key);
}

Value* Value::find(std::string_view key) {
  return find_member(*this, key);
}

std::optional<Value> parse_document(std::string_view text, Report& report) {
  const Places places(text);
  if (!check_text(text, places, report)) return std::nullopt;
  const PairsJoined source(text);
  std::istringstream stream(source.text());
  Builder builder(source, places, report);
  try {
    YAML::Parser parser(stream);
    // The second call is there to find what follows the document.
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
  } catch (const Stop&) {
    return std::nullopt;
  } catch (const YAML::Exception& problem) {
    builder.syntax_error(problem);
    return std::nullopt;
  }
  auto root = builder.take();
  if (!root) report.error({1, 1}, "the text is empty; start with 'irisgen: 1' and 'kernels:'");
  return root;
}

}  // namespace irisgen
