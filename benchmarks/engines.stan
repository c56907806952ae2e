// The weighted pseudo posterior of riskweighted's normal mixture (models/riskweighted_models/normal_mixture.py): its priors, and
// alpha * log-likelihood of each different row.
data {
  int<lower=1> components;
  int<lower=0> predictors;
  int<lower=1> cells;
  int<lower=1> rows;
  matrix[cells, predictors] columns;
  array[rows] int<lower=1, upper=cells> cell;
  vector[rows] z;
  vector<lower=0>[rows] alpha;
  real<lower=0> concentration;
  real<lower=0> widest;
}
transformed data {
  int several = components > 1 && predictors > 0;
}
parameters {
  simplex[components] weight;
  vector[components] centre;
  vector<lower=0>[components] sigma;
  vector[predictors] slope;
  vector<lower=0>[several] slope_spread;
  matrix[predictors, several ? components : 0] slope_deviation;
}
model {
  vector[components] level = log(weight) - log(sigma) - 0.5 * log(2 * pi());
  vector[components] narrow = inv(sigma);
  matrix[components, cells] mean_of = rep_matrix(centre, cells);
  vector[rows] record;
  if (several) {
    mean_of += (columns * (rep_matrix(slope, components) + slope_spread[1] * slope_deviation))';
  } else if (predictors > 0) {
    mean_of += rep_matrix((columns * slope)', components);
  }
  for (row in 1 : rows) {
    record[row] = log_sum_exp(level - 0.5 * square(narrow .* (z[row] - mean_of[ : , cell[row]])));
  }
  target += dot_product(alpha, record);
  weight ~ dirichlet(rep_vector(concentration, components));
  centre ~ std_normal();
  sigma ~ std_normal();
  slope ~ std_normal();
  slope_spread ~ normal(0, widest);
  to_vector(slope_deviation) ~ std_normal();
}
