"""A whole house on one machine: servers, databases, roles, users, keys and the services as child processes."""
