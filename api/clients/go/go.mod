module duepost.example/go

go 1.22
