// Edit distances of one string, the pattern, to a group of strings, the texts, one in each lane;
// called by distances/strings.py through bind_edit.cpp. Sums over local alignments of the same, for
// kernels/local_alignment.py. For common subsequences the patterns are in
// the lanes: all lanes then read the words of one symbol, which follow each other in memory.
//
// The cells of the pattern's rows are the bits of words (Myers 1999), and a block of 64 rows goes
// over all columns before the next one begins. So the words of a block stay in registers, and the
// differences along its last row are kept for each column, one bit for each lane.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

// Texts side by side: codes[j * lanes + l] is symbol j of text l, any code below `alphabet` after
// the end of a shorter text.
template <class Code>
struct EditTexts {
    const Code* codes;
    const int64_t* lengths;
    size_t longest;
};

// The pattern: bit r of blocks[w * alphabet + c] says whether row 64 w + r - skipped has symbol c.
// Rows before the first one have none, so that the last row is the last bit of the last block. Up to
// 32 symbols are padded to 8, 16 or 32.
struct EditPattern {
    const uint64_t* blocks;
    size_t alphabet, count, skipped;
};

// A pattern of at most as many rows as a narrow word T has bits: bit r of equal[c] says whether row
// r - skipped has symbol c. Tables of up to `most_held` symbols are padded to so many.
template <class T>
struct ShortPattern {
    const T* equal;
    size_t alphabet, rows;
    static constexpr size_t most_held = 256 / sizeof(T);
};

// Patterns side by side: bit r of equal[(rows[c] * count + w) * lanes + l] says whether row 64 w + r
// of pattern l has symbol c. Row 0 of the table is that of all symbols which no pattern has.
struct EditPatterns {
    const uint64_t* equal;
    const int32_t* rows;
    size_t count;
};

template <class Code>
struct EditText {
    const Code* codes;
    size_t length;
};

// What edits cost: a symbol that is inserted or deleted costs `gap`, and a symbol of class a that is
// replaced by another one of class b costs replace[a * count + b].
struct EditCosts {
    double gap;
    const double* replace;
    const int32_t* classes;  // of each code
    size_t count;
};

// As EditTexts, with codes as doubles.
struct EditColumns {
    const double* codes;
    const int64_t* lengths;
    size_t longest;
};

// Distances of a short pattern, exact: more texts stand side by side the narrower its word is.
template <class Code, class T>
struct ShortEdits {
    size_t lanes;
    void (*levenshtein)(const ShortPattern<T>& pattern, const EditTexts<Code>& texts, T* out);
    void (*osa)(const ShortPattern<T>& pattern, const EditTexts<Code>& texts, T* out);
};

template <class Code>
struct EditLoops {
    size_t lanes;       // texts of a group
    size_t work_bytes;  // for each column of the longest text
    // out (lanes,): the distances, exact up to the limit and above it elsewhere. `work` is aligned
    // to 64 bytes.
    void (*levenshtein)(const EditPattern& pattern, const EditTexts<Code>& texts, int64_t limit,
                        void* work, int64_t* out);
    void (*osa)(const EditPattern& pattern, const EditTexts<Code>& texts, int64_t limit, void* work,
                int64_t* out);
    ShortEdits<Code, uint16_t> bits16;
    ShortEdits<Code, uint32_t> bits32;
    size_t patterns;  // of a group
    // out (patterns,): the lengths of the longest common subsequences. carries (length, patterns)
    // is memory.
    void (*common)(const EditPatterns& patterns, const EditText<Code>& text, int64_t* carries,
                   int64_t* out);
    // out (lanes,): the least sums of costs that turn the pattern's n symbols into the texts.
    // row (longest + 1, lanes) is memory for the cells of a row.
    void (*weighted)(const double* pattern, size_t n, const EditColumns& texts,
                     const EditCosts& costs, double* row, double* out);
};

// Local alignments: a pair of aligned symbols a and b multiplies by pairs[a * symbols + b], the
// first symbol of a gap by `open`, each further one by `extend`. Texts end with symbols 0, for which
// `pairs` has 0.
struct AlignmentFactors {
    const double* pairs;
    size_t symbols;
    double open, extend;
};

struct AlignmentLoops {
    size_t lanes;  // texts of a group
    // sums[l] 1e150^times[l] <- the sum over all local alignments of the pattern's n symbols and
    // text l of the products of their factors, with 1 for the empty one. Codes of the texts are as
    // in EditTexts; work (3, longest + 1, lanes) is memory. No factor is above 1e100.
    void (*sums)(const uint8_t* pattern, size_t n, const uint8_t* texts, size_t longest,
                 const AlignmentFactors& factors, double* work, double* sums, int64_t* times);
};

}  // namespace mercer
