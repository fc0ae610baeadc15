// A journal line as JSON text and back.
#pragma once

#include <string>
#include <string_view>

#include "engine/journal/format.h"

namespace servetwin {

// Appends the line and its line feed.
void append_line(std::string& out, const JournalHeader& header);
void append_line(std::string& out, const RequestSpec& request);
void append_line(std::string& out, const JournalEvent& event);
void append_line(std::string& out, const JournalFooter& footer);

// Reads one line without its line feed. Returns what is wrong with it, or an empty text when nothing is. Of a
// header with another version only the version is read.
std::string decode_line(std::string_view text, JournalLine& out);

}  // namespace servetwin
