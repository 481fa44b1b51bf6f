CREATE SCHEMA {{name}};
