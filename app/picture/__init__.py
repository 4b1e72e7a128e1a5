"""The picture of the robot: the viewport and what draws into it, films and pictures in files. It stands on `app.gl`."""
