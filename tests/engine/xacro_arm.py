"""A xacro file with arguments: an arm of n links, whose mass is in a file that it includes."""

from pathlib import Path

PART = """<?xml version="1.0"?>
<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="mass" value="1.5"/></robot>
"""
ARM = """<?xml version="1.0"?>
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="n" default="2"/>
  <xacro:arg name="prefix" default=""/>
  <xacro:include filename="part.xacro"/>
  <link name="base"/>
  <xacro:macro name="segment" params="k n parent">
    <link name="$(arg prefix)l${k}">
      <inertial>
        <origin xyz="0 0 0.1"/>
        <mass value="${mass}"/>
        <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>
      </inertial>
      <visual><origin xyz="0 0 0.1"/><geometry><box size="0.05 0.05 0.2"/></geometry></visual>
    </link>
    <joint name="$(arg prefix)j${k}" type="continuous">
      <origin xyz="0 0 0.2"/>
      <parent link="${parent}"/>
      <child link="$(arg prefix)l${k}"/>
      <axis xyz="0 1 0"/>
    </joint>
    <xacro:if value="${k &lt; n - 1}">
      <xacro:segment k="${k + 1}" n="${n}" parent="$(arg prefix)l${k}"/>
    </xacro:if>
  </xacro:macro>
  <xacro:segment k="0" n="$(arg n)" parent="base"/>
</robot>
"""


def written_arm(folder: Path) -> Path:
    """Write the arm and the file that it includes; return the arm's."""
    path = folder / "arm.xacro"
    (folder / "part.xacro").write_text(PART, "utf-8")
    path.write_text(ARM, "utf-8")
    return path
