// Hostile inputs for the native entry points, for the sanitizers: sizes, numbers and row numbers come from bytes.
//
// With clang's -fsanitize=fuzzer (and BAYESVM_LIBFUZZER defined) the bytes are chosen by coverage; the environment's
// FUZZ_ENTRY is the name of the entry. Without it, the program draws them itself:
//   fuzz_native ENTRY SECONDS [SEED]
// SECONDS are seconds of the processor. It says how many inputs were tried; a finding ends it by the sanitizer's
// report, or by an input that takes too long. FUZZ_ENTRY=? and ENTRY ? print the names of the entries.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>
#include <string>

#include "../buffers.hpp"
#include "../gram/loops.hpp"
#include "../mode/laplace.hpp"
#include "../mode/newton.hpp"
#include "../sites/posterior.hpp"
#include "../sites/propagation.hpp"
#include "../triangular.hpp"
#include "plain_lapack.hpp"
#include "shared_columns.hpp"
#include "solver.hpp"

using namespace bayesvm::working_set;
namespace mode = bayesvm::mode;
namespace sites = bayesvm::sites;

namespace {

// Reads sizes and numbers from bytes; zeros once they are used up.
class Bytes {
public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }

  std::size_t size(std::size_t most) { return byte() % (most + 1); }

  // An ordinary number, or one that programs stumble over.
  double number() {
    static const double odd[] = {0.0,
                                 -0.0,
                                 1.0,
                                 -1.0,
                                 1e-320,
                                 1e-300,
                                 1e300,
                                 -1e300,
                                 1e154,
                                 1e-154,
                                 1e16,
                                 -1e16,
                                 std::numeric_limits<double>::max(),
                                 std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};
    const std::uint8_t kind = byte();
    if (kind < 200) return (static_cast<double>(byte()) - 127.5) / 50.0;
    if (kind < 250) return odd[kind % 15];
    std::uint64_t bits = 0;
    for (int k = 0; k < 8; ++k)
      bits = bits << 8 | byte();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  std::vector<double> numbers(std::size_t n) {
    std::vector<double> values(n);
    for (double& value : values)
      value = number();
    return values;
  }

  std::vector<std::int64_t> rows(std::size_t m, std::size_t n) {
    std::vector<std::int64_t> rows(m);
    for (std::int64_t& row : rows)
      row = static_cast<std::int64_t>(byte() % n);
    return rows;
  }

private:
  const std::uint8_t* data_;
  std::size_t left_;
};

void gaussian_from_inner(Bytes& bytes) {
  const std::size_t n = bytes.size(40);
  std::vector<double> G = bytes.numbers(n * n);
  bayesvm::gram::gaussian_from_inner(G.data(), n, bytes.number());
}

void gaussian_of_distances(Bytes& bytes) {
  const bool symmetric = bytes.byte() % 2 == 0;
  const std::size_t rows = bytes.size(40), columns = symmetric ? rows : bytes.size(40);
  const std::vector<double> D = bytes.numbers(rows * columns);
  std::vector<double> out(rows * columns);
  const double scale = bytes.number(), variance = bytes.number();
  bayesvm::gram::gaussian_of_distances(D.data(), rows, columns, symmetric, scale, variance, out.data());
}

void rows_times(Bytes& bytes) {
  const std::size_t n = 1 + bytes.size(40), m = bytes.size(60);
  const std::vector<double> K = bytes.numbers(n * n), x = bytes.numbers(m);
  std::vector<double> out(n);
  bayesvm::gram::rows_times(K.data(), n, bytes.rows(m, n).data(), x.data(), m, out.data());
}

void scaled_block(Bytes& bytes) {
  const std::size_t n = 1 + bytes.size(40), m = bytes.size(60);
  const std::vector<double> K = bytes.numbers(n * n), root = bytes.numbers(m);
  std::vector<double> out(m * m);
  bayesvm::gram::scaled_block(K.data(), n, bytes.rows(m, n).data(), root.data(), m, out.data());
}

Terms drawn_terms(Bytes& bytes, std::size_t n) {
  Terms terms{bytes.numbers(n), bytes.numbers(n), bytes.numbers(n),
              bytes.numbers(n), bytes.numbers(n), bytes.numbers(n)};
  for (std::size_t i = 0; i < n; ++i) { // what the callers promise: bounds about zero, nothing negative
    terms.kink[i] = std::abs(terms.kink[i]);
    terms.bend[i] = std::abs(terms.bend[i]);
    terms.weight[i] = std::abs(terms.weight[i]);
    terms.lower[i] = -std::abs(terms.lower[i]);
    terms.upper[i] = std::abs(terms.upper[i]);
  }
  return terms;
}

void solver(Bytes& bytes) {
  const std::size_t n = 1 + bytes.size(24), d = 1 + bytes.size(3);
  const std::uint8_t source = bytes.byte();
  const Options options{bytes.byte() % 2 == 0, bytes.byte() % 2 == 0, 1e-3, 2000, std::size_t{bytes.byte()} * 64};
  const Terms terms = drawn_terms(bytes, n);
  const Index size = static_cast<Index>(n);
  const std::vector<double> values = bytes.numbers(source % 3 == 0 ? n * n : n * d);
  const KernelShape shape{bytes.byte() % 2 == 0, bytes.number(), bytes.number(), 1 + bytes.byte() % 5};
  std::unique_ptr<Matrix> matrix;
  if (source % 3 == 0)
    matrix = std::make_unique<DenseMatrix>(values.data(), size);
  else if (source % 3 == 1)
    matrix = std::make_unique<KernelMatrix>(values.data(), size, static_cast<Index>(d), shape,
                                            Blas{plain::gemm, plain::gemv});
  else {
    std::vector<Index> rows;
    for (Index i = 0; i < size; ++i)
      rows.push_back(i);
    auto whole = std::make_shared<KernelMatrix>(values.data(), size, static_cast<Index>(d), shape,
                                                Blas{plain::gemm, plain::gemv});
    matrix = std::make_unique<StoreView>(std::make_shared<ColumnStore>(whole), rows);
  }
  Solver solver(*matrix, terms, options, {});
  int slices = 0;
  while (solver.run(0.05) == Status::kRunning)
    if (++slices > 200) {
      std::fprintf(stderr, "FAILED: the solver does not end\n");
      std::abort();
    }
  (void)solver.gradient();
  (void)solver.objective();
}

mode::Loss drawn_loss(Bytes& bytes) {
  const auto kind = static_cast<mode::LossKind>(bytes.byte() % 5);
  return {kind, bytes.numbers(mode::Loss::count(kind))};
}

// The losses anywhere, with any parameters.
void derivatives(Bytes& bytes) {
  const mode::Loss loss = drawn_loss(bytes);
  for (const double t : bytes.numbers(bytes.size(60)))
    (void)loss.at(t);
}

// The mode for any matrix: half of them positive definite, with numbers of all sizes.
void newton(Bytes& bytes) {
  const std::size_t n = 1 + bytes.size(16);
  const bool proper = bytes.byte() % 2 == 0, weighted = bytes.byte() % 2 == 0, warm = bytes.byte() % 2 == 0;
  const mode::Loss loss = drawn_loss(bytes);
  const std::vector<double> y = bytes.numbers(n), weights = bytes.numbers(n), start = bytes.numbers(n);
  std::vector<double> K = bytes.numbers(n * n);
  if (proper) {
    const std::vector<double> A = K;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        K[i * n + j] = i == j ? 1e-3 : 0.0;
        for (std::size_t k = 0; k < n; ++k)
          K[i * n + j] += A[i * n + k] * A[j * n + k];
      }
  }
  const double* w = weighted ? weights.data() : nullptr;
  bayesvm::gram::Rows rows(K.data(), n);
  const mode::Problem problem{rows, y.data(), n, loss, w, w};
  const mode::Result result = mode::newton(plain::lapack(), problem, warm ? start.data() : nullptr, {1e-9, 60});
  if (result.n_iter > 60) {
    std::fprintf(stderr, "FAILED: Newton's budget is not kept\n");
    std::abort();
  }
}

// A sum of up to three terms, of distances or features.
std::vector<bayesvm::gram::Term> drawn_covariance(Bytes& bytes, const std::vector<double>& D,
                                                  const std::vector<double>& X, std::size_t d) {
  using bayesvm::gram::TermKind;
  std::vector<bayesvm::gram::Term> terms;
  for (std::size_t k = bytes.size(3); k-- > 0;) {
    const auto kind = static_cast<TermKind>(bytes.byte() % 6);
    const bool features = kind == TermKind::linear || bytes.byte() % 2 == 0;
    terms.push_back({kind, bytes.number(), bytes.number(), nullptr, nullptr, 0});
    if (kind == TermKind::constant) continue;
    if (features)
      terms.back().X = X.data(), terms.back().d = d;
    else
      terms.back().D = D.data();
  }
  return terms;
}

// The evidence for a sum of up to three terms, of distances or features of all sizes.
void laplace(Bytes& bytes) {
  const std::size_t n = 1 + bytes.size(16), d = 1 + bytes.size(3);
  const bool weighted = bytes.byte() % 2 == 0, warm = bytes.byte() % 2 == 0;
  const mode::Loss loss = drawn_loss(bytes);
  const std::vector<double> y = bytes.numbers(n), weights = bytes.numbers(n), start = bytes.numbers(n);
  const std::vector<double> D = bytes.numbers(n * n), X = bytes.numbers(n * d);
  const std::vector<bayesvm::gram::Term> terms = drawn_covariance(bytes, D, X, d);
  const bayesvm::Lapack lapack = plain::lapack();
  const bayesvm::gram::Covariance covariance(lapack, terms, n);
  const double* w = weighted ? weights.data() : nullptr;
  const mode::Evidence found =
      mode::laplace(lapack, covariance, {y.data(), loss, w, w}, warm ? start.data() : nullptr, {1e-9, 60});
  std::size_t count = 0;
  for (const bayesvm::gram::Term& term : terms)
    count += term.count();
  if (found.mode.ending != mode::Ending::not_positive_definite && found.gradient.size() != count) {
    std::fprintf(stderr, "FAILED: a derivative is missing\n");
    std::abort();
  }
}

// What the bindings of the sites do: the support is made of the points with tau > 0.
void site_posterior(Bytes& bytes) {
  const std::size_t n = 1 + bytes.size(40);
  const std::vector<double> K = bytes.numbers(n * n), tau = bytes.numbers(n), nu = bytes.numbers(n);
  std::vector<std::int64_t> support;
  std::vector<double> root;
  for (std::size_t i = 0; i < n; ++i)
    if (tau[i] > 0.0) support.push_back(static_cast<std::int64_t>(i)), root.push_back(std::sqrt(tau[i]));
  const std::size_t m = support.size();
  double* const L = bayesvm::buffers().take(m * m);
  double* const inverse = bayesvm::buffers().take(m * m);
  std::vector<double> alpha(n), mean(n), var(n), rest(n), dmean(m), dvar(m);
  sites::Results results{L, inverse, alpha.data(), mean.data(), var.data(), rest.data(), 0.0};
  const int info = sites::posterior(plain::lapack(), K.data(), n, support.data(), root.data(), m, nu.data(), results);
  if (info == 0) {
    bayesvm::square_lower(plain::lapack(), inverse, m);
    const std::vector<double> dtau = bytes.numbers(m), pull = bytes.numbers(m);
    sites::response(inverse, m, root.data(), dtau.data(), pull.data(), dmean.data(), dvar.data());
  }
  bayesvm::buffers().release(L);
  bayesvm::buffers().release(inverse);
}

// Finite and not negative, as the callers promise weights.
std::vector<double> drawn_weights(Bytes& bytes, std::size_t n) {
  std::vector<double> weights = bytes.numbers(n);
  for (double& w : weights)
    w = std::isfinite(w) ? std::abs(w) : 1.0;
  return weights;
}

// Expectation propagation with labels, weights, sites and covariances of all sizes, some sites frozen.
void propagation(Bytes& bytes) {
  const std::size_t n = 1 + bytes.size(16), d = 1 + bytes.size(3);
  const auto kind = static_cast<sites::LabelKind>(bytes.byte() % 4);
  const bool some = bytes.byte() % 2 == 0, weighted = bytes.byte() % 2 == 0;
  const std::vector<double> D = bytes.numbers(n * n), X = bytes.numbers(n * d);
  const std::vector<double> weights = drawn_weights(bytes, n);
  std::vector<double> y = bytes.numbers(n), tau = bytes.numbers(n), nu = bytes.numbers(n);
  std::vector<std::uint8_t> frozen(n);
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = y[i] < 0.0 ? -1.0 : 1.0;
    frozen[i] = bytes.byte() % 2;
    if (i % 4 != 0) tau[i] = std::abs(tau[i]);
  }
  const std::vector<bayesvm::gram::Term> terms = drawn_covariance(bytes, D, X, d);
  const bayesvm::Lapack lapack = plain::lapack();
  const bayesvm::gram::Covariance covariance(lapack, terms, n);
  const sites::Terms given{y.data(), n, kind, some ? frozen.data() : nullptr, weighted ? weights.data() : nullptr};
  const sites::Evidence found = sites::evidence(lapack, covariance, given, {tau, nu}, {1e-9, 1e-8, 60});
  if (found.found.n_iter > 60 || (found.found.converged && !(found.found.last.matched.residual <= 1e-9))) {
    std::fprintf(stderr, "FAILED: expectation propagation does not keep its promise\n");
    std::abort();
  }
}

// Tilted moments of any means and variances, for powers from zero to one or none.
void moments(Bytes& bytes) {
  const auto kind = static_cast<sites::LabelKind>(bytes.byte() % 4);
  const bool weighted = bytes.byte() % 2 == 0;
  const std::size_t n = bytes.size(150);
  const std::vector<double> mean = bytes.numbers(n), var = bytes.numbers(n);
  std::vector<double> power = drawn_weights(bytes, n), log_z(n), slope(n), bend(n);
  for (double& w : power)
    w = std::min(w, 1.0);
  sites::moments(kind, mean.data(), var.data(), weighted ? power.data() : nullptr, n, log_z.data(), slope.data(),
                 bend.data());
}

// Inverses and squares of triangular matrices, in memory that is used again.
void triangular(Bytes& bytes) {
  const std::size_t n = bytes.size(80);
  const std::vector<double> L = bytes.numbers(n * n);
  double* const A = bayesvm::buffers().take(n * n);
  std::copy(L.begin(), L.end(), A);
  bayesvm::invert_lower(plain::lapack(), A, n, n);
  std::vector<double> squares(n);
  bayesvm::lower_column_squares(A, n, squares.data());
  bayesvm::square_lower(plain::lapack(), A, n);
  bayesvm::buffers().release(A);
}

struct Entry {
  const char* name;
  void (*run)(Bytes&);
};

const Entry entries[] = {{"gaussian_from_inner", gaussian_from_inner},
                         {"gaussian_of_distances", gaussian_of_distances},
                         {"rows_times", rows_times},
                         {"scaled_block", scaled_block},
                         {"solver", solver},
                         {"derivatives", derivatives},
                         {"newton", newton},
                         {"laplace", laplace},
                         {"site_posterior", site_posterior},
                         {"moments", moments},
                         {"propagation", propagation},
                         {"triangular", triangular}};

const Entry* named(const std::string& name) {
  for (const Entry& entry : entries)
    if (name == entry.name) return &entry;
  for (const Entry& entry : entries)
    std::printf("%s\n", entry.name);
  std::exit(name == "?" ? 0 : 2);
}

} // namespace

#ifdef BAYESVM_LIBFUZZER
namespace {
const Entry* chosen = nullptr;
}

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const name = std::getenv("FUZZ_ENTRY");
  chosen = named(name ? name : "");
  std::atexit([] { std::printf("processor seconds: %.0f\n", static_cast<double>(std::clock()) / CLOCKS_PER_SEC); });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  chosen->run(bytes);
  return 0;
}
#else
int main(int argc, char** argv) {
  const Entry* const entry = named(argc > 1 ? argv[1] : "");
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.0;
  std::mt19937_64 random(argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 0);
  const std::clock_t begin = std::clock();
  long count = 0;
  for (; static_cast<double>(std::clock() - begin) < seconds * CLOCKS_PER_SEC; ++count) {
    std::vector<std::uint8_t> data(random() % 4096);
    for (std::uint8_t& byte : data)
      byte = static_cast<std::uint8_t>(random());
    Bytes bytes(data.data(), data.size());
    entry->run(bytes);
  }
  std::printf("%s: %ld inputs, no finding\n", entry->name, count);
  return 0;
}
#endif
