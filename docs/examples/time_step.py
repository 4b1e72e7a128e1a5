"""Have the time step and the integrator suggested."""

import engine

for model in (engine.load(engine.find_robot("arm7")), engine.chain(100)):
    found = engine.suggested_step(model)
    print(model.name, f"{found.dt:.2g} s", found.integrator)
# arm7 0.001 s implicit
# chain100 0.00025 s rk4
