// Rows of aiconfigurator's operator tables as measured calls.
#pragma once

#include <string>

#include "calibrate/operators/operator_samples.h"
#include "engine/base/csv_table.h"

namespace servetwin {

// Adds a table's rows; `op` is the part of its file's name that says which operation. False: no such is read.
bool add_aiconfigurator_rows(const std::string& op, const CsvTable& table, OperatorSamples& out);
// Whether tables of that operation are read.
bool reads_aiconfigurator_table(const std::string& op);

}  // namespace servetwin
