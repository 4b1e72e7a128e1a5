"""The viewport and what draws into it, films and image files; built on `app.gl`."""
