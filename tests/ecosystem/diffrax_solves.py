"""diffrax: the Lorenz system with adaptive steps, and a neural ODE trained through its adjoint."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax


def lorenz():
    def field(t, y, args):
        s, r, b = args
        return jnp.array([s * (y[1] - y[0]), y[0] * (r - y[2]) - y[1], y[0] * y[1] - b * y[2]])

    @jax.jit
    def solve(y0):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            diffrax.Tsit5(),
            0.0,
            2.0,
            0.01,
            y0,
            args=(10.0, 28.0, 8 / 3),
            saveat=diffrax.SaveAt(ts=jnp.linspace(0, 2, 11)),
            stepsize_controller=diffrax.PIDController(rtol=1e-6, atol=1e-6),
        )

    found = solve(jnp.array([1.0, 1.0, 1.0]))
    return np.asarray(found.ys), np.array(int(found.stats["num_steps"]))


class Field(eqx.Module):
    mlp: eqx.nn.MLP

    def __call__(self, t, y, args):
        return self.mlp(y)


def neural():
    field = Field(eqx.nn.MLP(2, 2, 16, 2, activation=jax.nn.softplus, key=jax.random.key(0)))
    ts = jnp.linspace(0, 1, 10)
    start = jax.random.normal(jax.random.key(1), (8, 2))
    turn = jnp.stack([jnp.cos(2 * ts), jnp.sin(2 * ts)], -1)
    wanted = jnp.stack(
        [
            start[:, :1] * turn[:, 0] - start[:, 1:] * turn[:, 1],
            start[:, :1] * turn[:, 1] + start[:, 1:] * turn[:, 0],
        ],
        -1,
    )

    def path(field, y0):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            diffrax.Tsit5(),
            0.0,
            1.0,
            0.1,
            y0,
            saveat=diffrax.SaveAt(ts=ts),
            stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-5),
        ).ys

    optimizer = optax.adam(3e-3)

    @eqx.filter_jit
    def step(field, state):
        def loss(field):
            found = jax.vmap(path, (None, 0))(field, start)
            return jnp.mean((found - wanted) ** 2)

        value, grads = eqx.filter_value_and_grad(loss)(field)
        updates, state = optimizer.update(grads, state)
        return eqx.apply_updates(field, updates), state, value

    state, losses = optimizer.init(eqx.filter(field, eqx.is_inexact_array)), []
    for _ in range(10):
        field, state, value = step(field, state)
        losses.append(float(value))
    return np.array(losses)


def main() -> dict[str, np.ndarray]:
    ys, steps = lorenz()
    return {"lorenz": ys[:6], "steps": steps, "neural ode losses": neural()}
