"""What travels between the saver and the server, and that it never matters."""
