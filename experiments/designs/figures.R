# Figures of R's survey package for tests/utility/test_designs.py: Rscript figures.R, in this folder (survey 4.1-1).
# It makes replicates.csv (weights by replicate) and figures.csv; `python records.py` makes records.csv, which need not be kept.
suppressPackageStartupMessages(library(survey))
options(survey.replicates.mse = TRUE)  # about the estimate of the whole sample
data <- read.csv("records.csv", stringsAsFactors = TRUE)

linear <- list(
  "none" = svydesign(~1, weights = ~w, data = data),
  "strata" = svydesign(~1, strata = ~h, weights = ~w, data = data),
  "psu" = svydesign(~p, weights = ~w, data = data),
  "strata psu" = svydesign(~p, strata = ~h, weights = ~w, data = data, nest = TRUE),
  "fpc" = svydesign(~1, fpc = ~n_all, weights = ~w, data = data),
  "strata fpc" = svydesign(~1, strata = ~h, fpc = ~n_of_stratum, weights = ~w, data = data),
  "psu fpc" = svydesign(~p, fpc = ~psu_all, weights = ~w, data = data),
  "strata psu fpc" = svydesign(~p, strata = ~h, fpc = ~psu_of_stratum, weights = ~w, data = data, nest = TRUE),
  "share fpc" = svydesign(~1, fpc = ~share, weights = ~w, data = data),
  "pairs" = svydesign(~two, strata = ~pair, weights = ~w, data = data, nest = TRUE),
  "pairs fpc" = svydesign(~two, strata = ~pair, fpc = ~psu_of_pair, weights = ~w, data = data, nest = TRUE),
  "equal weights psu" = svydesign(~p, weights = ~one, data = data)
)
set.seed(1)
replicated <- list(
  "brr" = as.svrepdesign(linear[["pairs"]], type = "BRR"),
  "fay 0.3" = as.svrepdesign(linear[["pairs"]], type = "Fay", fay.rho = 0.3),
  "fay 0.5" = as.svrepdesign(linear[["pairs"]], type = "Fay", fay.rho = 0.5),
  "jackknife" = as.svrepdesign(linear[["psu"]], type = "JK1"),
  "stratified-jackknife" = as.svrepdesign(linear[["strata psu"]], type = "JKn"),
  "stratified-jackknife pairs" = as.svrepdesign(linear[["pairs"]], type = "JKn"),
  "bootstrap" = as.svrepdesign(linear[["strata psu"]], type = "bootstrap", replicates = 60)
)
weights <- lapply(replicated, function(design) weights(design, "analysis"))
# As of the American Community Survey; the weights are those of the bootstrap, since any will do.
replicated[["successive-difference"]] <- svrepdesign(weights = ~w, repweights = weights[["bootstrap"]], type = "successive-difference", data = data, combined.weights = TRUE)
rows <- list()
note <- function(design, what, value, error, df) rows[[length(rows) + 1]] <<- setNames(data.frame(design, what, as.numeric(value), as.numeric(error), df), c("design", "what", "value", "error", "df"))
for (name in c(names(linear), names(replicated))) {
  design <- if (name %in% names(linear)) linear[[name]] else replicated[[name]]
  df <- degf(design)
  mean <- svymean(~y, design)
  note(name, "mean", coef(mean), SE(mean), df)
  domain <- svymean(~y, subset(design, x > 3))
  note(name, "domain", coef(domain), SE(domain), df)
  ratio <- svyratio(~y, ~x, design)
  note(name, "ratio", coef(ratio), SE(ratio), df)
  for (share in c(0.5, 0.7)) {
    median <- svyquantile(~y, design, share, qrule = "math", df = df)
    note(name, paste("quantile", share), coef(median), SE(median, df = df), df)
  }
  line <- svyglm(y ~ x + k, design)
  odds <- svyglm(b ~ x, design, family = quasibinomial(), control = glm.control(epsilon = 1e-14, maxit = 100))
  for (fit in list(line, odds)) for (term in names(coef(fit))) {
    note(name, paste(if (identical(fit, line)) "line" else "odds", term), coef(fit)[[term]], SE(fit)[[term]], df)
  }
}
write.csv(format(do.call(rbind, rows), digits = 15), "figures.csv", row.names = FALSE, quote = FALSE)
factors <- lapply(replicated, function(design) design$scale * design$rscales)
table <- do.call(rbind, lapply(names(weights), function(name) {
  data.frame(design = name, replicate = seq_len(ncol(weights[[name]])), factor = factors[[name]], t(round(weights[[name]], 10)))
}))
write.csv(table, "replicates.csv", row.names = FALSE, quote = FALSE)
