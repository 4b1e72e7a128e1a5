"""Run a study: 12 arms with different payloads, and how far each sinks, in m."""

import engine

study = engine.Study(
    {
        "robot": "arm6",
        "hold": True,
        "vary": [{"what": "payload", "of": "gripper", "grid": [0.0, 5.0, 12]}],
        "keep": [{"name": "sinks", "quantity": "gripper position z", "take": "change"}],
    }
)
print(study.run("study.results", processes=0).done, "samples")
found = engine.Study.results("study.results")
print(found["gripper payload"][-1], "kg", found["sinks"][[0, -1]].round(4))
# 12 samples
# 5.0 kg [-0.003  -0.0071]
