"""The code of a keeper: a bare interpreter that runs the tasks of one lane, one after another.

Only light modules of the standard library may be imported here (no `json`, `socket`, `re`, `subprocess`): a keeper must
stay near 9 MB and start in a few hundredths of a second. The worker shares the file formats in `segments`."""
