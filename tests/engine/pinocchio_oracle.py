"""Pinocchio's model of a URDF file, with the map between its coordinates and ours."""

from pathlib import Path

import numpy as np
import pinocchio as pin

import engine


class Oracle:
    """Pinocchio's forward dynamics of one of our models, read from the same file.

    Joints that we lock because they move no inertia are locked there too; Pinocchio's own result for them is NaN.
    """

    def __init__(self, path: Path, model: engine.Model, floating: bool = False):
        root = (pin.JointModelFreeFlyer(),) if floating else ()
        self.model = pin.buildModelFromUrdf(str(path), *root)
        ours = {joint.name for joint in model.joints} | {"universe", "root_joint"}
        held = [self.model.getJointId(name) for name in self.model.names if name not in ours]
        if held:
            self.model = pin.buildReducedModel(self.model, held, pin.neutral(self.model))
        self.data, self.ours = self.model.createData(), model
        self.order = np.zeros(self.model.nv, int)
        for joint in model.joints:
            run = np.arange(joint.v.start, joint.v.stop)
            theirs = self.at(joint)
            self.order[theirs.idx_v : theirs.idx_v + theirs.nv] = (
                run[[3, 4, 5, 0, 1, 2]] if joint.kind == "floating" else run
            )

    def at(self, joint):
        """Return Pinocchio's joint of that name, which has its coordinates' indices."""
        index = self.model.getJointId("root_joint" if joint.name == "floating_base" else joint.name)
        assert index < self.model.njoints, f"Pinocchio has no joint {joint.name}"
        return self.model.joints[index]

    def q(self, q):
        theirs = pin.neutral(self.model)
        for joint in self.ours.joints:
            run, values = self.at(joint), q[joint.q]
            if run.nq == 2:
                values = [np.cos(values[0]), np.sin(values[0])]
            theirs[run.idx_q : run.idx_q + run.nq] = values
        return theirs

    def forward_dynamics(self, q, v, tau, external=None):
        """q̈; `external` (links, 6) are wrenches (n, f) on our links, in their frames."""
        arguments = () if external is None else (self._on_joints(external),)
        answer = np.empty(len(v))
        answer[self.order] = pin.aba(self.model, self.data, self.q(q), v[self.order], tau[self.order], *arguments)
        return answer

    def _on_joints(self, external):
        """The wrenches in the frames of Pinocchio's joints."""
        total = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for name, wrench in zip(self.ours.link_names, external, strict=True):
            frame = self.model.frames[self.model.getFrameId(name, pin.FrameType.BODY)]
            total[frame.parentJoint] += frame.placement.act(pin.Force(wrench[3:], wrench[:3]))
        answer = pin.StdVec_Force()
        answer.extend(total)
        return answer

    def mass_matrix(self, q):
        return self._symmetric(pin.crba(self.model, self.data, self.q(q)))

    def inverse_mass_matrix(self, q):
        return self._symmetric(pin.computeMinverse(self.model, self.data, self.q(q)))

    def _symmetric(self, upper):
        """A matrix of which Pinocchio gives the upper triangle, in our order."""
        M = np.triu(upper) + np.triu(upper, 1).T
        answer = np.empty_like(M)
        answer[np.ix_(self.order, self.order)] = M
        return answer
