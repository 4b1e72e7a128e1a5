"""Compare algorithms by their times and residuals."""

import engine

model = engine.load(engine.find_robot("double_pendulum"))
*_, result = engine.Comparison([model], ["abia", "jsiia"], ["cpu"], seconds=0.05).run()
for row in result.rows:
    print(row.algorithm, row.device, row.verdict, row.residual < 1e-12, row.host > 0)
# abia cpu ok True True
# jsiia cpu ok True True
