// A TTree with the kinds of branches that people make.
#pragma once

#include <TFile.h>
#include <TTree.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "write.h"

namespace thalweg_test {

inline void write_trees(char const* path) {
    TFile file(path, "RECREATE");
    auto* const tree = new TTree("t", "branches of all kinds"); // of the file, which deletes it
    std::int32_t number = 0;
    Long64_t large = 0;
    UChar_t small = 0;
    bool flag = false;
    float array[2][3] = {};
    std::int32_t count = 0;
    double jagged[10] = {};
    char word[20] = {};
    struct {
        std::int32_t a;
        float b;
    } pair{};
    std::vector<float> list;
    std::vector<std::string> words;
    std::string one_word;
    fixtures::Hit one_hit;
    std::vector<fixtures::Hit> hits;
    std::map<std::int32_t, std::string> map;
    tree->Branch("number", &number, "number/I")->SetTitle("of the row");
    tree->Branch("large", &large, "large/L");
    tree->Branch("small", &small, "small/b");
    tree->Branch("flag", &flag, "flag/O");
    tree->Branch("array", array, "array[2][3]/F");
    tree->Branch("count", &count, "count/I");
    tree->Branch("jagged", jagged, "jagged[count]/D");
    tree->Branch("word", word, "word/C");
    tree->Branch("pair", &pair, "a/I:b/F");
    tree->Branch("list", &list);
    tree->Branch("words", &words);
    tree->Branch("one.word", &one_word);
    tree->Branch("hit.", &one_hit);
    tree->Branch("hits", &hits);
    tree->Branch("map", &map);
    tree->SetAutoFlush(20);
    for (int row = 0; row < kRows; ++row) {
        number = row;
        large = row * 0x123456789LL;
        small = static_cast<UChar_t>(250 + row);
        flag = row % 3 == 0;
        for (int i = 0; i < 6; ++i) array[i / 3][i % 3] = static_cast<float>(row) / static_cast<float>(i + 1);
        count = row % 7;
        for (int i = 0; i < count; ++i) jagged[i] = row / 7.0 + i;
        std::strcpy(word, std::string(row % 9, 'w').c_str());
        pair = {row, row / 2.0f};
        list.assign(row % 4, row / 3.0f);
        words.assign(row % 4, text(row));
        one_word = text(row);
        one_hit = hit(row);
        hits.assign(row % 3, hit(row));
        map = {{row, text(row)}};
        tree->Fill();
    }
    file.Write();
}

} // namespace thalweg_test
