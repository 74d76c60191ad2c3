"""numpyro: eight schools (Rubin, 1981) by NUTS, and the same by variational inference."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal

EFFECTS = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def schools(errors, effects=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("schools", len(errors)):
        unit = numpyro.sample("unit", dist.Normal(0, 1))
        theta = numpyro.deterministic("theta", mu + tau * unit)
        numpyro.sample("effects", dist.Normal(theta, errors), obs=effects)


def main() -> dict[str, np.ndarray]:
    jax.config.update("jax_enable_x64", True)
    kernel = NUTS(schools, step_size=0.3, adapt_step_size=False, adapt_mass_matrix=False)
    sampler = MCMC(kernel, num_warmup=5, num_samples=25, progress_bar=False)
    sampler.run(jax.random.key(0), ERRORS, effects=EFFECTS)
    draws = sampler.get_samples()
    predicted = Predictive(schools, draws)(jax.random.key(1), ERRORS)
    guide = AutoNormal(schools)
    inference = SVI(schools, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
    fitted = inference.run(jax.random.key(2), 200, ERRORS, EFFECTS, progress_bar=False)
    values = {"value": jnp.array([0.3, 1.2, 2.5])}
    densities = [
        d.log_prob(values["value"])
        for d in (
            dist.Gamma(2.0, 1.5),
            dist.StudentT(3.0, 0.5, 2.0),
            dist.LogNormal(0.1, 0.7),
            dist.Weibull(1.5, 2.0),
            dist.TransformedDistribution(dist.Normal(0, 1), dist.transforms.ExpTransform()),
            dist.MixtureSameFamily(
                dist.Categorical(jnp.array([0.3, 0.7])),
                dist.Normal(jnp.array([0.0, 2.0]), jnp.array([1.0, 0.5])),
            ),
        )
    ]
    return {
        "theta": np.asarray(draws["theta"]),
        "predicted": np.asarray(predicted["effects"]),
        "losses": np.asarray(fitted.losses),
        "guide": np.asarray(guide.median(fitted.params)["mu"]),
        "densities": np.asarray(jnp.stack(densities)),
    }
