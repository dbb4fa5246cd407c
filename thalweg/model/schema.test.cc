#include "thalweg/model/schema.h"
#include "thalweg/model/run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "thalweg/base/error.h"
#include "thalweg/model/testing.h"

namespace thalweg::model {
namespace {

Field record(std::string name, std::vector<Field> members) {
    return {std::move(name), Kind::record, Scalar::float64, {}, std::move(members), "", ""};
}

Field list(std::string name, Field element) {
    return {std::move(name), Kind::list, Scalar::float64, {}, {std::move(element)}, "", ""};
}

Schema nested() {
    auto energy = scalar("energy", Scalar::float32);
    energy.unit = "keV";
    energy.description = "calibrated, \"prompt\"";
    auto hits = list("hits", record("", {energy, list("samples", scalar("", Scalar::uint16, {2, 3}))}));
    Field note{"note", Kind::string, Scalar::float64, {2}, {}, "", ""};
    return {{{"ch0/raw", {scalar("t", Scalar::uint64), hits, note}, "a table"},
             {"z", {scalar("psi", Scalar::complex128, {4})}, ""}}};
}

TEST(Schema, RoundTripsThroughJson) { EXPECT_EQ(schema_from_json(to_json(nested())), nested()); }

TEST(Schema, EveryScalarRoundTripsByName) {
    for (int i = 0; i <= static_cast<int>(Scalar::complex128); ++i) {
        auto const type = static_cast<Scalar>(i);
        EXPECT_EQ(parse_scalar(name_of(type)), type);
    }
    EXPECT_THROW(parse_scalar("int128"), base::UsageError);
}

TEST(Schema, RefusesWhatNoContainerCanHold) {
    auto const refused = [](Table table) {
        try {
            validate({{table}});
        } catch (base::UsageError const& error) {
            return std::string(error.what()).find("table '" + table.name + "'") != std::string::npos;
        }
        return false;
    };
    auto const good = scalar("x", Scalar::int8);
    EXPECT_TRUE(refused({"", {good}, ""}));
    EXPECT_TRUE(refused({"a", {}, ""}));
    EXPECT_TRUE(refused({"a//b", {good}, ""}));
    EXPECT_TRUE(refused({"/a", {good}, ""}));
    EXPECT_TRUE(refused({"thalweg", {good}, ""}));
    EXPECT_TRUE(refused({"a", {good, good}, ""}));
    EXPECT_TRUE(refused({"a", {scalar("b/c", Scalar::int8)}, ""}));
    EXPECT_TRUE(refused({"a", {scalar(".", Scalar::int8)}, ""}));
    EXPECT_TRUE(refused({"a", {scalar("x", Scalar::int8, {0})}, ""}));
    EXPECT_TRUE(refused({"a", {scalar("x", Scalar::int64, {1u << 20, 1u << 20})}, ""}));
    EXPECT_TRUE(refused({"a", {record("r", {})}, ""}));
    EXPECT_TRUE(refused({"a", {Field{"l", Kind::list, {}, {}, {}, "", ""}}, ""}));
    EXPECT_THROW(make_run_head({}, {}, {}), base::UsageError);
    EXPECT_NO_THROW(validate({})); // a file of another program of which no table can be shown
    EXPECT_THROW(validate({{{"a", {good}, ""}, {"a", {good}, ""}}}), base::UsageError);
    EXPECT_THROW(validate({{{"a", {good}, ""}, {"a/b", {good}, ""}}}), base::UsageError);
}

TEST(Schema, TakesBlanksDotsAndUnicode) {
    EXPECT_NO_THROW(validate({{{"détecteur 1.α/raw", {scalar("énergie [keV].x", Scalar::int8)}, ""}}}));
}

TEST(Schema, RefusesTextThatIsNoSchema) {
    for (auto const* text : {"", "{", "[]", "{\"tables\":[{\"name\":\"a\",\"fields\":[{\"name\":\"x\"}]}]}",
                             "{\"tables\":[{\"name\":\"a\",\"fields\":[{\"name\":\"x\",\"type\":\"int7\"}]}]}"}) {
        EXPECT_THROW(schema_from_json(std::string_view(text)), base::DataError) << text;
    }
}

std::string why_refused(std::string_view text) {
    try {
        schema_from_json(text);
    } catch (base::DataError const& error) {
        return error.what();
    }
    return "it was taken";
}

TEST(Schema, NamesTheKeyThatIsWrong) {
    struct Case {
        std::string_view field; // of table 't'
        std::string_view said;
    };
    for (auto const& [field, said] : {
             Case{R"({"name":"x","type":"list","items":{"type":"int8"}})",
                  "field 'x' of table 't' cannot be read (it has no 'element', but 'items', which has no meaning "
                  "there)"},
             Case{R"({"type":"int8"})", "field number 1 of table 't' cannot be read (it has no 'name')"},
             Case{R"({"name":"x"})", "field 'x' of table 't' cannot be read (it has no 'type')"},
             Case{R"({"name":"x","type":"int7"})", "field 'x' of table 't' cannot be read ('int7' is not a type"},
             Case{R"({"name":"x","type":"int8","unit":3})", "(its 'unit' is 3, and must be a text)"},
             Case{R"({"name":"x","type":"int8","shape":[2,-1]})", "(its 'shape' is [2,-1], and must be a list of"},
             Case{R"({"name":"x","type":"struct","fields":{"a":1}})",
                  "field 'x' of table 't' cannot be read (its 'fields'"},
             Case{R"({"name":"x","type":"struct","fields":["a"]})",
                  "x/field number 1 of table 't' cannot be read (it is a"},
             Case{R"({"name":"x","type":"list","element":{"type":"list","element":5}})", "field 'x/*/*' of table 't'"},
             Case{R"({"name":"x","type":"int8","attributes":{"a":{"type":"int8","value":300}}})",
                  "attribute 'a' of field 'x' of table 't' cannot be read (300 is no integer"},
             Case{R"({"name":"x","type":"int8","attributes":{"a":{"type":"int8","value":"b"}}})", "attribute 'a' of"},
         }) {
        auto const text = fmt::format(R"({{"tables":[{{"name":"t","fields":[{}]}}]}})", field);
        auto const why = why_refused(text);
        EXPECT_NE(why.find(said), std::string::npos) << why;
        EXPECT_EQ(why.find("json.exception"), std::string::npos) << why;
    }
}

TEST(Schema, SaysWhereTextIsNoJson) {
    auto const why = why_refused("{");
    EXPECT_TRUE(why.starts_with("the schema cannot be read (parse error at line 1, column 2")) << why;
}

} // namespace
} // namespace thalweg::model
